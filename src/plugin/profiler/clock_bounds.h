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

// Estimates the offset of a GPU's %globaltimer from the host's clock. Each operation bounds it: no
// channel begins before the host requested it, and the host never hears of an event before it
// happened.
//
// Some bounds are wrong: NCCL may report an operation only after it has begun, or a late host
// thread may read a later operation's times. The tightest bounds are kept, and as few of them as
// possible are dropped to make the rest consistent.
class ClockBounds {
public:
  // A channel with all its times, and the time at which the host requested its operation.
  void add(const trace::NcclChannelRow& row, std::uint64_t enqueue_ns);
  // Nothing if nothing was added, or if more than a few contradict each other (the clock was set).
  std::optional<trace::ClockRow> reading() const;

private:
  static constexpr std::size_t k_kept = 4;
  struct Bound {
    std::int64_t offset_ns = 0;
    std::uint32_t operation =
        0; // all channels of an operation are right or wrong together: one bound
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
