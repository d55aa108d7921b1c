// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/intervals.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// The steps of a captured job. They have no marks, but training repeats them: its collectives recur
// in the same order.
namespace ncclprobe::analysis::timeline {

// A collective of one rank, in that rank's order.
struct ObservedCollective {
  std::uint64_t kind = 0; // the same for equal communicator, function and number of elements
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RepeatedSteps {
  std::size_t collectives = 0; // in each
  Spans steps;                 // from the start of its first to the end of its last; ascending
};
// A step begins after the rank's usual longest pause in communication. Nothing if there are fewer
// than k_fewest_repeats, or if they hold less than half of all collectives.
inline constexpr std::size_t k_fewest_repeats = 8;
std::optional<RepeatedSteps> repeated_steps(std::span<const ObservedCollective> collectives);

} // namespace ncclprobe::analysis::timeline
