// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"

#include "analysis/timeline/clock_model.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// From bounds of a clock at single moments to all lines (offset and drift) that they allow. All
// clock comparisons use it: hosts by ping-pong, GPUs by their timers, and clocks that only
// collectives compare. docs/method.md, "One clock".
namespace ncclprobe::analysis::timeline {

// At a moment of the own clock, the offset to the reference is at least, or at most, this.
struct OffsetBound {
  enum class Side : std::uint8_t { at_least, at_most };
  std::uint64_t own_ns = 0;
  std::int64_t offset_ns = 0;
  double slack_ns = 0; // possible error of the bound
  Side side = Side::at_least;
  std::size_t source = 0; // bounds of one source are right or wrong together
};

// Both bounds of a reading of two clocks. `error_ns` adds the reference's error to the reading's
// own.
void add_bounds(std::vector<OffsetBound>& to, const trace::ClockRow& reading, std::size_t source,
                double error_ns = 0);

// From very many bounds, those that allow the same lines in any longer part of the time.
std::vector<OffsetBound> tightest(std::vector<OffsetBound> bounds);

// At each moment the middle of the allowed range, with half of its width as error. Nothing without
// bounds on both sides.
//
// If no line satisfies all bounds, sources that contradict their neighbours in time are dropped, if
// it is clear which. If the clock bends, it is fitted in parts. If that does not help either,
// bounds are widened by the least amount that leaves a line, and the error grows by it.
std::optional<ClockModel> fit_clock(std::vector<OffsetBound> bounds);
std::optional<ClockModel> fit_clock(const std::vector<trace::ClockRow>& readings);

} // namespace ncclprobe::analysis::timeline
