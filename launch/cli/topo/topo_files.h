// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "topology/placement.h"
#include "topology/read/nccl_graph.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// What `topo` shows, wherever it is from.
struct Sight {
  topology::Machine machine; // no host, if all that was read is `graphs`
  std::vector<topology::NcclGraph> graphs;
  std::vector<std::vector<std::string>> contradictions; // by host; empty: nobody compared
  std::vector<topology::RankLocation> ranks;            // of the job's ranks
  std::vector<std::string> remarks;
};

// The hosts of all files, one after the other, and NCCL's graphs of at most one file.
// Errors: not_found, io, invalid_argument with file and line.
Result<Sight> read_sight(const std::vector<std::string>& files);

} // namespace ncclprobe::cli
