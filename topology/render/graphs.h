// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/read/nccl_graph.h"

#include <string>
#include <vector>

namespace ncclprobe::topology {

// NCCL's rings and trees for people: how many channels, what NCCL plans with, and the GPUs' order,
// channels of one order together.
std::string render_graphs(const std::vector<NcclGraph>& graphs);

// The same as JSON, with every channel.
std::string write_graphs_json(const std::vector<NcclGraph>& graphs);

} // namespace ncclprobe::topology
