// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/chooser.h"
#include "analysis/search/default_level.h"
#include "analysis/search/measured_trial.h"
#include "analysis/search/outcome.h"
#include "analysis/search/random_order.h"
#include "analysis/search/search.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::search {

// A trial of a combination of process parameters.
struct TriedProcess {
  Candidate candidate;
  int trial = 0;
  double log_time = 0; // weighted over all targets
};

// What a search knows so far. Its steps share it.
struct Progress {
  Progress(Space of, Options with);

  // Whether it may be tried: it is possible for the target (or for all targets), and does not
  // contain all settings of a failed candidate.
  bool allowed(const Candidate& candidate, std::optional<std::size_t> target = {}) const;
  // Whether the budget has room for these trials, and for `reserve_s` after them.
  bool affordable(const std::vector<TrialRequest>& trials) const;
  double expected_s(const std::vector<TrialRequest>& trials) const;
  void give_reason(Reason reason);
  bool has_process() const;
  // Whether the default's process parameters were in effect, and nothing was delivered.
  bool runs_default(const TrialRequest& trial) const {
    return trial.form == Form::candidate && trial.process == unset;
  }
  // The default, and each combination in `tried`: the mean over its trials.
  std::vector<Observation> observations() const;

  Space space;
  Options options;
  Random random;
  Candidate unset; // the default
  std::map<Candidate, model::OutcomeKind> failed;
  std::set<Candidate> worked; // process parameters under which a cell finished
  DefaultLevel level;
  std::vector<MeasuredTrial> floor;
  std::unique_ptr<Chooser> chooser; // of combinations of process parameters
  std::vector<TriedProcess> tried;  // by the steps that choose among them
  // Results for the next steps: the fastest combination of process parameters, and for each target
  // the fastest in-process values under it.
  std::vector<Candidate> contenders;
  std::optional<Candidate> process;
  std::map<std::size_t, Gain> of_changes; // as in Outcome
  std::vector<LeftOut> left_out;
  bool each_change_counts = true;
  std::vector<std::vector<Candidate>> in_process;
  std::map<std::pair<std::optional<std::size_t>, Candidate>, Reason> reasons;
  bool screens;         // in-process values are tried; false if the budget has no room for them
  bool complete = true; // no step was cut short by the budget
  double spent_s = 0;
  double reserve_s = 0; // that the steps after the present one need
};

// Why a candidate was not chosen. Both are logarithms of times: `own` is what its trials say, and
// `best` is that of the candidate that was chosen.
Fate fate_against(double best, double own);

// A trial with cells of all targets, in random order.
TrialRequest trial_of(Progress& progress, Stage stage, const std::vector<Candidate>& candidates);

// A part of a search.
class Step {
public:
  virtual ~Step() = default;
  // Blocks of trials to run now. Empty: the step is done.
  virtual std::vector<std::vector<TrialRequest>> next() = 0;
  // Those blocks. What failed is in Progress::failed; cells may be missing.
  virtual void learn(const std::vector<Block>& blocks) = 0;
};

} // namespace ncclprobe::analysis::search
