// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/read/nccl_graph.h"

#include <string>
#include <vector>

namespace ncclprobe::topology {

// NCCL's rings and trees as text: the number of channels, NCCL's planning figures, and the GPUs'
// order; channels of one order are combined.
std::string render_graphs(const std::vector<NcclGraph>& graphs);

// The same as JSON, with every channel.
std::string write_graphs_json(const std::vector<NcclGraph>& graphs);

} // namespace ncclprobe::topology
