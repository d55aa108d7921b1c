// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <string>
#include <vector>

// Which GPU, CPUs and NIC each rank should use.
namespace ncclprobe::topology {

struct RankBinding {
  int rank = 0;
  int host = 0; // position in Machine::hosts
  int gpu = 0;  // Gpu::index
  std::optional<int> numa_node;
  std::vector<int> cpus;  // its share of the CPUs near its GPU; empty: unknown, so do not bind
  std::optional<int> nic; // Nic::index, the nearest that works
  std::string reason;
};

// One rank per GPU, host by host. Ranks on one NUMA node share its cores evenly. GPUs that are
// equally near to several NICs of one speed are spread over these.
std::vector<RankBinding> propose_placement(const Machine& machine);

// Notes in addition to the table of ranks: "it is unknown which CPUs are hyperthreads of one core
// ...".
std::vector<std::string> placement_notes(const Machine& machine,
                                         const std::vector<RankBinding>& placement);

// Shell lines that start the job this way: a rank file for mpirun, options for srun, and the GPUs
// that the processes must see, in order.
std::vector<std::string> launch_options(const Machine& machine,
                                        const std::vector<RankBinding>& placement);

// The current place of a process.
struct RankLocation {
  int rank = 0;
  int host = 0;
  int gpu = 0;
  std::vector<int> cpus; // CPUs that it may run on; empty: unknown
};

// "rank 3 drives GPU 3 (NUMA node 1) from CPUs 0-3 of NUMA node 0": for each rank that may only run
// away from its GPU. Silent where the GPU's node is unknown.
std::vector<std::string> misplaced(const Machine& machine, const std::vector<RankLocation>& ranks);

} // namespace ncclprobe::topology
