// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/forecast.h"
#include "analysis/search/search.h"
#include "analysis/tune/explanation.h"
#include "analysis/tune/in_process_check.h"
#include "analysis/tune/proof_of_delivery.h"
#include "analysis/tune/ran_trial.h"
#include "model/trial.h"
#include "workload/tuning_space.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis::tune {

// A search that is over, and what is delivered.
struct Tuning {
  search::Space space;
  std::vector<std::string> why;          // each parameter is in the space, as space.parameters
  std::vector<std::string> transports;   // in use, and why; one line each
  std::vector<std::string> not_in_space; // what was left out, and why; one line each
  std::vector<std::string> notes;        // on the space as a whole
  std::vector<model::Setting> pinned;    // by the environment
  std::vector<workload::EnvironmentVariable> environment; // NCCL's and ncclprobe's own, by name
  bool only_environment = false;                          // it was searched for variables that harm
  bool measured = false;                                  // otherwise only prepared
  std::optional<search::Forecast> forecast;               // of a search that was only prepared
  search::Outcome outcome;
  std::vector<RanTrial> ran; // all trials, in their order
  StepTimesOfCandidates step_times;
  double budget_s = 0;
  double min_gain = 0.02;
  bool synthetic = false;

  // To all ranks; none: keep the defaults. base::k_value_unset removes a variable.
  std::vector<model::Setting> delivered;
  std::vector<model::Setting> variables;  // those of them that the environment can hold
  std::optional<DeliveryProof> proof;     // of them
  std::vector<Explanation> explanations;  // of the targets; empty without a proof
  std::vector<InProcessCheck> in_process; // of targets with in-process settings of their own
  // Of the default, then of candidates that clearly lost, if companions of the search show it.
  std::vector<CandidateChoices> choices;
  std::vector<IneffectiveSetting> ineffective; // by these companions
  std::filesystem::path folder;
  std::vector<std::string> files; // in it
};

// Variables of the fastest combination that the search left out, because they had no effect.
// Variables of the environment that it did not remove do not count.
std::vector<model::Setting> without_effect(const search::Space& space,
                                           const search::Outcome& outcome);

// Whether the delivery is recommended: it was proven when it was chosen, and again as delivered.
bool is_recommended(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
