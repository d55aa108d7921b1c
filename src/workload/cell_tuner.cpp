// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/cell_tuner.h"

#include <algorithm>

namespace ncclprobe::workload {
namespace {

constexpr const char* k_tuner_variable = "NCCL_TUNER_PLUGIN";

} // namespace

void add_tuner(model::TrialSpec& trial, const std::map<std::string, std::string>& environment) {
  const auto& own = trial.process.common;
  if (trial.backend == "nvidia" && !environment.contains(k_tuner_variable) &&
      std::ranges::find(own, k_tuner_variable, &model::Setting::name) == own.end())
    trial.instruments.push_back({k_tuner_variable, "STATIC_PLUGIN"});
}

void ask_for_tuner(model::TrialSpec& trial, const std::map<std::string, std::string>& environment) {
  if (std::ranges::any_of(trial.cells,
                          [](const model::Cell& cell) { return !cell.settings.empty(); }))
    add_tuner(trial, environment);
}

} // namespace ncclprobe::workload
