// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <string>
#include <vector>

// Which rank should drive which GPU from which CPUs, and through which NIC.
namespace ncclprobe::topology {

struct RankPlacement {
  int rank = 0;
  int host = 0; // position in Machine::hosts
  int gpu = 0;  // Gpu::index
  std::optional<int> numa_node;
  std::vector<int> cpus;  // its share of those near its GPU; empty: unknown, so better not bound
  std::optional<int> nic; // Nic::index, the nearest that works
  std::string reason;
};

// One rank a GPU, host by host. Ranks that share a NUMA node share its cores evenly; GPUs that are
// equally near to several NICs of one speed are spread over them.
std::vector<RankPlacement> propose_placement(const Machine& machine);

// What the table of ranks does not show: "which CPUs are hyperthreads of one core is unknown ...".
std::vector<std::string> placement_notes(const Machine& machine,
                                         const std::vector<RankPlacement>& placement);

// How to start it, as lines of a shell: for mpirun a rank file, for srun its options, and which
// GPUs the processes must see in which order.
std::vector<std::string> launch_options(const Machine& machine,
                                        const std::vector<RankPlacement>& placement);

// Where a process is now.
struct RankLocation {
  int rank = 0;
  int host = 0;
  int gpu = 0;
  std::vector<int> cpus; // that it may run on; empty: unknown
};

// "rank 3 drives GPU 3 (NUMA node 1) from CPUs 0-3 of NUMA node 0": for each rank that may only run
// away from its GPU. Silent where the GPU's node is unknown.
std::vector<std::string> misplaced(const Machine& machine, const std::vector<RankLocation>& ranks);

} // namespace ncclprobe::topology
