// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/nccl_values.h"
#include "workload/transport_in_use.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What `tune` searches: the settings that matter for the transport in use, in the order in which
// they matter. Pure. The order and the values are from NCCL's sources and documentation, published
// tuning work, and our own measurements; `why` says which.
namespace ncclprobe::workload {

// What is tuned: a collective, or a training step.
struct TuningTarget {
  std::optional<model::Collective> collective;
  std::optional<model::StepPattern> step;
};

struct TuningGround {
  std::string backend;
  std::vector<model::HostInventory> hosts;
  MachineShape machine;
  std::vector<NcclPlace> places;      // one for each host
  Variables environment;              // of the launch: what it sets is pinned
  Variables files;                    // by variable: the file of NCCL's that sets its value in
                                      // `environment`, which does not set it itself
  std::vector<std::string> overrides; // names that may be tuned nevertheless
  std::vector<TuningTarget> targets;
  // The backend changes its settings of cells within a process. Otherwise variables in fresh
  // processes do.
  bool in_process = true;
  bool with_compression = false; // of gradients: changes results, so only if asked for
  // Tune nothing but the environment: try each of its variables without it.
  bool only_environment = false;
};

// How a parameter takes effect. process: an environment variable, in fresh processes. cell: a
// setting within a process (model/in_process.h). step: an option of the training step, which is
// another cell of the same process.
enum class TuningScope { process, cell, step };

struct TuningParameter {
  std::string name; // NCCL_BUFFSIZE; algorithm; bucket
  TuningScope scope = TuningScope::process;
  // The first is "": as the environment has it. base::k_value_unset: without its variable.
  std::vector<std::string> values;
  std::string why;
};

// A value that could have been in the space. Without a value: all of that parameter.
struct TuningOmission {
  std::string name;
  std::string value;
  std::string why;
};

// A variable that the environment sets, or one of NCCL's files.
struct EnvironmentVariable {
  model::Setting setting;  // its value as it may be stored
  std::string why_nothing; // it changes nothing here; empty: it may change something
  std::string file = {};   // that sets it; empty: the environment
};

struct TuningSpace {
  TransportsInUse transports;
  std::vector<TuningParameter> parameters; // the most important first; each has at least 2 values
  std::vector<model::Setting> pinned;      // set in the environment and left alone
  std::vector<TuningOmission> left_out;
  std::vector<std::string> notes;               // what a user must know about the space as a whole
  std::vector<EnvironmentVariable> environment; // NCCL's and ncclprobe's own, by name
};
TuningSpace tuning_space(const TuningGround& ground);

// Why these settings cannot work together for that target; empty if they can, as far as is known.
// `settings`: variables and settings of cells, each at a value other than "". base::k_value_unset
// removes a variable.
std::string why_impossible(const TuningGround& ground, const TuningTarget& target,
                           const std::vector<model::Setting>& settings);

} // namespace ncclprobe::workload
