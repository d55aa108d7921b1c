// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"
#include "trace/nccl_rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ncclprobe::plugin {

// How a GPU's %globaltimer stands to the host's clock, by all that was seen in a while: nothing
// began before the host asked for it, and the host heard of nothing before it was.
//
// Not every one of these holds: NCCL may tell of an operation when it has begun, or a host that
// came late finds the times of a later one. So the extreme ones are kept, and as few of them given
// up as contradict the rest.
class ClockBounds {
public:
  // A channel with all its times, and when the host asked for its operation.
  void add(const trace::NcclChannelRow& row, std::uint64_t enqueue_ns);
  // Nothing if nothing was added, or more than a few contradict (the clock was set).
  std::optional<trace::ClockRow> reading() const;

private:
  static constexpr std::size_t k_kept = 4;
  struct Bound {
    std::int64_t offset_ns = 0;
    std::uint32_t operation = 0; // the channels of one are right or wrong together: one bound
  };
  using Extremes = std::array<Bound, k_kept>;
  static Extremes filled(std::int64_t offset_ns) {
    Extremes all;
    all.fill({offset_ns, 0});
    return all;
  }
  Extremes at_least_ = filled(INT64_MIN); // the greatest, in descending order
  Extremes at_most_ = filled(INT64_MAX);  // the smallest, in ascending order
  std::uint64_t first_gt_ = 0;            // 0: nothing was added
  std::uint64_t last_gt_ = 0;
};

} // namespace ncclprobe::plugin
