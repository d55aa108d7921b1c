// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/captured_step.h"

#include <cstdint>
#include <vector>

namespace ncclprobe::workload {

// A collective of a captured step, as a cell of its own can measure it.
struct ReplayedShape {
  model::Collective collective = model::Collective::all_reduce;
  std::uint64_t count = 0;
  model::DataType type = model::DataType::f32;
  int split = 1; // of the ranks into communicators of neighbours
  bool operator==(const ReplayedShape&) const = default;
};

inline constexpr std::size_t k_most_replayed_shapes = 8;

// Those that move most per step, at most k_most_replayed_shapes. Collectives of
// groups_without_shape() are left out.
std::vector<ReplayedShape> replayed_shapes(const model::CapturedStep& step);

// The ranks of communicators whose collectives no cell can measure alone: cells split the ranks
// into groups of neighbours, and these are others, such as every second rank. The replayed step has
// them.
std::vector<std::vector<int>> groups_without_shape(const model::CapturedStep& step);

} // namespace ncclprobe::workload
