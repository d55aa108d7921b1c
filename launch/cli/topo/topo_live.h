// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "launch/cli/topo/topo_command.h"
#include "launch/cli/topo/topo_files.h"

namespace ncclprobe::cli {

// What a host may take for its part while the others wait: it looks twice if a driver fails, asks
// NCCL, or runs the tools of others.
inline constexpr std::chrono::seconds k_look_patience{600};

// What a supervisor holds while it looks around.
struct LiveSight {
  std::unique_ptr<launch::Fleet> fleet;
  launch::WorkerProgram worker;
  bool first_here = false;   // of this host's supervisors: it looks for all of them
  model::HostInventory own;  // this host's inventory, where first_here
  std::string nccl_topology; // as NCCL dumped it, if it was asked and answered
  std::string nccl_graphs;
};

// Joins the fleet; one supervisor of each host takes the inventory and, if the options say so, asks
// NCCL; everybody gets everything. That something cannot be seen is no error. Errors: mismatch, if
// the ranks were started with different arguments; unavailable (MPI).
Result<Sight> look_around(const World& world, const TopoOptions& options, LiveSight& live);

} // namespace ncclprobe::cli
