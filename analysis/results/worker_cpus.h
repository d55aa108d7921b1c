// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>
#include <vector>

// Which CPUs the workers of each setting ran on, as they told once they were connected
// (model::WorkerRecord::cpus), against what the trial asked for (model::TrialSpec::cpu_affinity).
namespace ncclprobe::analysis {

struct WorkerCpus {
  std::vector<int> ranks; // ascending
  std::string host;
  std::string asked; // "0-3"; empty: nothing, or it was refused
  std::string cpus;  // empty: the worker was not begun, or could not tell
  // Asked for what these ranks have by default, which makes no difference.
  bool as_default = false;

  bool took_effect() const { return !asked.empty() && asked == cpus; }
  bool operator==(const WorkerCpus&) const = default;
};

struct SettingCpus {
  std::string setting;
  bool is_default = false;
  bool asks = false;               // for CPUs
  std::vector<WorkerCpus> workers; // no two alike but for their ranks
  std::string refused;             // why it could not be had, if so
  bool changes_nothing() const;    // every worker has the CPUs that it has by default
};

// Of all trials of a setting, the default first. Empty if no setting asks for CPUs.
std::vector<SettingCpus> setting_cpus(const model::Run& run);

// Why this trial's times are not those of the CPUs that it asked for; empty if they are.
std::string cpu_problem(const model::TrialRecord& trial);

} // namespace ncclprobe::analysis
