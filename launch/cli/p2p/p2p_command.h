// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/common_options.h"
#include "model/cell_label.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct World;

struct P2pOptions : MeasuringOptions {
  std::optional<model::P2pMode> mode; // unset: direct where one process drives all GPUs of a host
  std::optional<std::vector<model::P2pMethod>> methods;
  std::optional<std::vector<model::P2pDirection>> directions;
  std::optional<std::vector<std::uint64_t>> sizes;
  std::optional<std::vector<int>> devices;
};
Usage p2p_usage(P2pOptions& into);

// `ncclprobe p2p`: plans and measures the matrices, stores them as a run and prints its report.
// Returns an exit code (base/exit_code.h).
int p2p_command(const World& world, const P2pOptions& options);

} // namespace ncclprobe::cli
