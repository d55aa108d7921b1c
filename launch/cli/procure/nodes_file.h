// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/node_type.h"

#include <filesystem>
#include <vector>

namespace ncclprobe::cli {

// The types of nodes to compare, and the training steps that matter.
struct NodesFile {
  std::vector<analysis::procure::NodeType> nodes; // without their runs
  std::vector<analysis::procure::Workload> workloads;
};

// TOML with tables [[node]] and [[workload]]; examples/nodes.toml has all keys. Run files are
// relative to the folder of the file. Errors: not_found, io, and invalid_argument with file, line
// and what is allowed there.
base::Result<NodesFile> read_nodes_file(const std::filesystem::path& file);

} // namespace ncclprobe::cli
