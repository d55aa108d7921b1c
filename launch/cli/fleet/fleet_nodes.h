// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"
#include "base/error.h"
#include "model/run.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// The nodes of a launch.
struct FleetNodes {
  std::vector<std::string> names;
  std::vector<std::vector<int>> ranks; // by node, ranks of the launch; rail r is the r-th of each
  std::vector<analysis::fleet::Fault> faults; // nodes with another number of ranks than most
  bool whole_hosts = true;
  int ranks_per_node = 1;

  int count() const { return static_cast<int>(names.size()); }
  int node_of(int rank) const; // -1: of none
};

// `ranks_per_node`: each so many ranks of a host are a node; absent: its ranks are. Errors:
// mismatch (too few nodes to tell them apart).
base::Result<FleetNodes> fleet_nodes(const std::vector<std::string>& hosts,
                                     const std::vector<int>& host_of_rank,
                                     std::optional<int> ranks_per_node);

// Of the run file of a check.
base::Result<FleetNodes> fleet_nodes(const model::RunHeader& header,
                                     std::optional<int> ranks_per_node);

} // namespace ncclprobe::cli
