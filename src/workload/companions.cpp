// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/companions.h"

#include <array>

namespace ncclprobe::workload {
namespace {

using namespace model;

// ENV: "NCCL_X set by environment to N."; TUNING: algorithm, protocol and channels of each
// operation; INIT and NET: plugins, transports, configuration files; PROFILE: our plugin.
struct Instrument {
  const char* name;
  const char* value;
  const char* lost; // without it
};
constexpr std::array k_instruments{
    Instrument{"NCCL_DEBUG", "INFO", "which variables NCCL read"},
    Instrument{"NCCL_DEBUG_SUBSYS", "INIT,ENV,TUNING,NET,PROFILE",
               "NCCL's messages about variables, unless ENV and TUNING are in it"},
    Instrument{"NCCL_DEBUG_FILE", k_companion_log_path, "which variables NCCL read"},
    Instrument{"NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN",
               "algorithm, protocol and channels on every rank"},
};

} // namespace

bool wants_companions(Proof proof, std::string_view backend) {
  return proof == Proof::on || (proof == Proof::automatic && backend == "nvidia");
}

void make_companion(TrialSpec& trial, const std::map<std::string, std::string>& environment) {
  trial.purpose = Purpose::companion;
  trial.replicate = 0;
  if (trial.backend == "nvidia")
    for (const Instrument& one : k_instruments)
      if (!environment.contains(one.name))
        trial.instruments.push_back({one.name, one.value});
  for (Cell& cell : trial.cells)
    cell.timing = {.warmups = 0, .iterations = 1, .batches = 1};
}

std::vector<std::string> lost_to(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> lost;
  for (const Instrument& one : k_instruments) {
    auto found = environment.find(one.name);
    if (found != environment.end() && found->second != one.value)
      lost.push_back(fmt::format("{}={} is set in the environment and kept, so companion trials "
                                 "may not show {}",
                                 one.name, found->second, one.lost));
  }
  return lost;
}

} // namespace ncclprobe::workload
