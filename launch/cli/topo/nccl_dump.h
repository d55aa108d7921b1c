// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/supervisor.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// What NCCL wrote by NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE.
struct NcclDump {
  std::string topology;
  std::string graphs; // empty for one GPU
};

// Lets NCCL make one communicator over all GPUs of this host, in a worker that then dies, and
// returns what it saw. Errors: unavailable (no GPU), failed, with the worker's reason; io.
Result<NcclDump> dump_nccl_topology(const launch::WorkerProgram& worker,
                                    const std::vector<model::Setting>& libraries,
                                    const model::HostInventory& host);

} // namespace ncclprobe::cli
