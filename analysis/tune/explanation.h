// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/proof/proof.h"
#include "analysis/results/run_summary.h"
#include "analysis/search/outcome.h"
#include "analysis/search/space.h"
#include "analysis/step_marks/step_figures.h"
#include "analysis/tune/proof_of_delivery.h"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

// What a delivery changed in how targets run.
namespace ncclprobe::analysis::tune {

// The parts of training steps, as the search measured them: a value of each process, by target and
// candidate.
class StepTimesOfCandidates {
public:
  void add(std::size_t target, const search::Candidate& candidate, const steps::StepTimes& times);
  // The mean over processes. Nothing if there is none.
  std::optional<steps::StepTimes> of(std::size_t target, const search::Candidate& candidate) const;

private:
  struct Sum {
    steps::StepTimes times;
    int processes = 0;
  };
  std::map<std::pair<std::size_t, search::Candidate>, Sum> sums_;
};

// Of one cell in one process. Nothing without valid marks.
std::optional<steps::StepTimes> step_times_of(const model::Cell& cell,
                                              const model::CellRecord& record, int ranks);

// A target on one side of the proof.
struct HowItRan {
  std::vector<Use> uses;                 // the library's choices for its calls; empty: not known
  std::optional<steps::StepTimes> times; // of a training step, by its marks

  // The SMs that its communication takes: each of NCCL's channels runs on one. 0: not known.
  int sms() const;
};

struct Explanation {
  HowItRan of_default;
  HowItRan of_delivery;
};

// In the order of the targets. `run`, `delivered`: as for prove_delivery(). The run's companions
// recorded the choices.
std::vector<Explanation> explain_delivery(const RunSummary& run,
                                          const std::vector<ProvenTarget>& targets,
                                          const std::string& delivered);

// How the library ran the targets with a candidate.
struct CandidateChoices {
  search::Candidate candidate;
  std::vector<std::vector<Use>> by_target; // an empty list: not known
};

// `companions` ran these candidates, in that order, and `targets`.
std::vector<CandidateChoices> choices_of(const std::vector<model::TrialRecord>& companions,
                                         const std::vector<search::Candidate>& candidates,
                                         const std::vector<model::CellLabel>& targets);

// A setting of a candidate that the library did not follow.
struct IneffectiveSetting {
  search::Candidate candidate;
  model::Setting setting;
  Effect effect = Effect::ignored;
  Why reason;
};

// `companions` ran these candidates, in that order.
std::vector<IneffectiveSetting>
ineffective_settings(const std::vector<model::TrialRecord>& companions,
                     const std::vector<search::Candidate>& candidates);

// Values of process parameters that, alone, made all targets together slower by more than
// `min_gain`: the slowest k_most_losers, the slowest first.
inline constexpr std::size_t k_most_losers = 2;
std::vector<search::Candidate> clear_losers(const search::Outcome& outcome, double min_gain);

} // namespace ncclprobe::analysis::tune
