// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cell_label.h"
#include "model/run.h"

#include <optional>
#include <string>

namespace ncclprobe::analysis {

// The highest one-way rate of a link, from the machine data in the run's header, and the pairs to
// compare it with.
struct P2pLimit {
  std::optional<double> gb_per_s;
  std::string derivation; // "18 NVLinks x 25 GB/s", or why it is unknown
  std::string link_class; // pairs of one class should be equally fast: "NV18", "PIX", "host"
};

P2pLimit p2p_limit(const model::RunHeader& header, const model::P2pTransfer& transfer);

// A figure may exceed a limit by this much: clocks and counted bytes are not exact.
inline constexpr double k_limit_tolerance = 0.02;

} // namespace ncclprobe::analysis
