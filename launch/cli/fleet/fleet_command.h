// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

#include <filesystem>
#include <optional>
#include <string>

namespace ncclprobe::cli {

struct World;

struct FleetOptions : RunOptions {
  std::string action;
  model::Collective collective = model::Collective::all_reduce;
  std::optional<std::uint64_t> bytes; // unset: as the backend needs to fill its links
  int group = 2;
  std::optional<int> large_group; // 0: none; unset: by the number of nodes
  double slower = 0.1;
  double alpha = 0.01;
  double power = 0.99;
  int rounds = 14;
  std::optional<int> at_once;        // nodes; unset: all
  std::optional<int> ranks_per_node; // unset: a node is a host
  std::filesystem::path baseline;    // run file of an earlier check; empty: none
};
Usage fleet_usage(FleetOptions& into);

// `ncclprobe fleet check`: measures groups of nodes until it is decided which nodes are bad, stores
// the trials as a run and shows the verdicts. Returns an exit code (base/exit_code.h).
int fleet_command(const World& world, FleetOptions options);

} // namespace ncclprobe::cli
