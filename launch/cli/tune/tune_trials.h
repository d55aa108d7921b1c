// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/search.h"
#include "analysis/tune/ran_trial.h"
#include "launch/cli/tune/tune_cells.h"
#include "model/record.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// Values of a candidate, by how they take effect (workload::TuningScope).
struct CandidateSettings {
  std::vector<model::Setting> variables;    // of fresh processes
  std::vector<model::Setting> of_cells;     // within a process
  std::vector<model::Setting> step_options; // "bucket", "50M"
};
CandidateSettings settings_of(const workload::TuningSpace& space,
                              const analysis::search::Candidate& candidate);
// All of them.
std::vector<model::Setting> all_of(const CandidateSettings& settings);

// Requests of a search as trials, and their records as its results.
class TuneTrials {
public:
  // `of_defaults`: a trial of the default settings. `environment`: of the launch. `cells` must
  // outlive it.
  TuneTrials(workload::TuningSpace space, model::TrialSpec of_defaults,
             std::map<std::string, std::string> environment, TuneCells& cells);

  // The trial gets the number `id`.
  model::TrialSpec trial(const analysis::search::TrialRequest& request, int id);

  // What trials took says how long others will take.
  void learn(const analysis::search::TrialRequest& request,
             const analysis::search::TrialResult& result);
  // How long it will take, in seconds.
  double expected_s(const analysis::search::TrialRequest& request) const;
  // How much longer trials took than planned (workload/expected_time.h).
  double slowness() const { return planned_s_ > 0 ? spent_s_ / planned_s_ : 1; }

  // Of a trial: also those whose data was wrong.
  static std::vector<analysis::tune::FailedCell> failed_cells(const model::TrialRecord& trial);
  // `trial` ran what a request asks for.
  static analysis::search::TrialResult result(const model::TrialRecord& trial);

  // All cells with these settings, in a trial of the number `id`.
  model::TrialSpec delivered(const CandidateSettings& settings, int id);

private:
  double planned_s(const analysis::search::TrialRequest& request) const; // workload/expected_time.h
  model::TrialSpec spec(const analysis::search::TrialRequest& request) const;
  model::TrialSpec numbered(model::TrialSpec trial, int id);

  workload::TuningSpace space_;
  model::TrialSpec of_defaults_;
  std::map<std::string, std::string> environment_;
  TuneCells& cells_;
  std::map<std::size_t, double> default_ns_; // by target
  double spent_s_ = 0, planned_s_ = 0;       // of all trials learned
  std::map<std::string, int> replicates_;    // by label: processes of these settings so far
};

} // namespace ncclprobe::cli
