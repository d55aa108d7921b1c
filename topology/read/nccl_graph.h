// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::topology {

// One channel: the devices that it visits, in order. A ring closes after the last one.
struct NcclChannel {
  std::vector<std::int64_t> gpus; // as the driver numbers them
  std::vector<int> ranks;         // of the same GPUs; empty if the dump (before 2.29) has none
  std::optional<std::int64_t> net_in;
  std::optional<std::int64_t> net_out;
  bool operator==(const NcclChannel&) const = default;
};

// NCCL's result for one kind of algorithm.
struct NcclGraph {
  int id = 0;      // 0 ring, 1 tree, 2 CollNet chain, 3 NVLS, 4 CollNet direct
  int pattern = 0; // 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet direct
  double gb_per_s_intra = 0; // NCCL's planning figure per channel, inside a node
  double gb_per_s_inter = 0;
  double latency_inter_us = 0;
  std::string path_intra; // "NVL", "PIX", "SYS", ...: the longest path used
  std::string path_inter;
  bool cross_nic = false;
  bool same_channels = false;
  std::vector<NcclChannel> channels; // none: NCCL cannot use this algorithm here
  bool operator==(const NcclGraph&) const = default;

  // "ring", "tree", ...
  std::string name() const;
};

// A dump of NCCL_GRAPH_DUMP_FILE. Errors: invalid_argument with file and line.
Result<std::vector<NcclGraph>> read_nccl_graphs(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
