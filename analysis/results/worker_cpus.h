// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>
#include <vector>

// The CPUs that the workers of each setting ran on, as they reported after connecting
// (model::WorkerRecord::cpus), compared with the trial's request (model::TrialSpec::cpu_affinity).
namespace ncclprobe::analysis {

struct WorkerCpus {
  std::vector<int> ranks; // ascending
  std::string host;
  std::string asked; // "0-3"; empty: none, or the request failed
  std::string cpus;  // empty: the worker did not start, or could not report
  // The request equals these ranks' default, so it makes no difference.
  bool as_default = false;

  bool took_effect() const { return !asked.empty() && asked == cpus; }
  bool operator==(const WorkerCpus&) const = default;
};

struct SettingCpus {
  std::string setting;
  bool is_default = false;
  bool asks = false;               // for CPUs
  std::vector<WorkerCpus> workers; // all different, apart from their ranks
  std::string refused;             // why the request failed, if it did
  bool changes_nothing() const;    // every worker has its default CPUs
};

// For all trials of a setting, the default first. Empty if no setting requests CPUs.
std::vector<SettingCpus> setting_cpus(const model::Run& run);

// Why this trial's times do not belong to the requested CPUs; empty if they do.
std::string cpu_problem(const model::TrialRecord& trial);

} // namespace ncclprobe::analysis
