// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "launch/supervisor/affinity.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Which CPUs the workers of a trial get (model::TrialSpec::cpu_affinity):
//
//   numa        those of the NUMA node that the rank's GPU belongs to; on the CPU backend the ranks
//               go round the nodes
//   none        all that the job may use
//   launcher    those to which mpirun has bound the rank; without mpirun, all
//   core        a core of its own, with its hyperthreads, of its NUMA node where that is known
//   0-3,8       these; 0-3/4-7: the ranks of a host take these sets in turn
//
// always within what the container or the batch system allows.
namespace ncclprobe::launch {

// Errors: invalid_argument unless it is one of these.
Result<void> check_cpu_policy(std::string_view policy);

// What a supervisor knows of the CPUs of its host.
struct HostCpus {
  Affinity unbound = Affinity::inherited; // gives a child all CPUs that the job may use
  // CPUs near the device of each rank of this host; without an entry: unknown.
  std::map<int, std::vector<int>> near;
  std::filesystem::path sysfs = "/sys";
};

struct CpuChoice {
  Affinity affinity = Affinity::inherited;
  std::vector<int> cpus; // of those; never empty
};

// For the ranks that one worker drives. Errors: unsupported if the policy is impossible here: CPUs
// that the job may not use, an unknown NUMA node, fewer cores than ranks.
Result<CpuChoice> choose_cpus(const std::string& policy, const HostCpus& host,
                              const std::vector<int>& ranks);

} // namespace ncclprobe::launch
