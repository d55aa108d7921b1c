// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "topology/placement.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// What `topo` shows, wherever it is from.
struct Sight {
  topology::Machine machine;
  std::vector<std::vector<std::string>> contradictions; // by host; empty: nobody compared
  std::vector<topology::RankSeat> seats;                // of the job's ranks
  std::vector<std::string> remarks;
};

// The hosts of all files, one after the other; NCCL's graphs, which are no machine, are told in a
// remark. Errors: not_found, io, invalid_argument with file and line.
base::Result<Sight> read_sight(const std::vector<std::string>& files);

} // namespace ncclprobe::cli
