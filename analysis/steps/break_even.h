// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/steps/step_results.h"
#include "base/enum_names.h"

#include <optional>
#include <string>
#include <vector>

// How much a step must compute to hide its communication completely.
//
// For a step on several ranks, with all its parts, let
//   K  be the time in which it computes (|K|, without work that only communication needs),
//   X  the time in which anything is transferred, hidden or not; waiting for late ranks does not
//      count, because no interconnect avoids it,
//   E  exposed transfer: the part of X without concurrent computing; H = X - E is hidden.
// Then
//   break-even, at best   = X          with less computing, some transfer is exposed in any
//                                      schedule; with as much, all of it could be hidden
//   break-even, as it is  = K X / H    with computing made longer (larger batches, longer
//                                      sequences) that hides as much of X per millisecond as it
//                                      does in this step; absent if nothing is hidden
// Both hold for this step's bytes, on these ranks, with these settings.
namespace ncclprobe::analysis::steps {

// Smaller shares of a step do not bound it: transfer E, or all other time without computing
// (waiting for other ranks, idle, input copies; exposed) together.
inline constexpr double k_bound_share = 0.1;

enum class BoundBy {
  computing,    // E and the rest are both below that share
  other,        // only the rest exceeds it: no interconnect helps
  overlap,      // K would suffice to hide X, but E exceeds it
  interconnect, // K < X, and E exceeds it: no schedule hides all of it
};
constexpr auto enum_names(BoundBy) {
  using enum BoundBy;
  return std::to_array<std::pair<BoundBy, std::string_view>>(
      {{computing, "compute-bound"},
       {other, "not bound by transfers"},
       {overlap, "overlap-bound"},
       {interconnect, "interconnect-bound"}});
}

struct BreakEven {
  const StepResult* result = nullptr;
  BoundBy bound_by = BoundBy::computing;
  double computing_ns = 0;           // K
  double transfer_ns = 0;            // X, the break-even at best
  double exposed_ns = 0;             // E
  std::optional<double> as_it_is_ns; // the other break-even

  // Student's, over processes; needs three processes or more.
  std::optional<Interval> computing_interval_ns;
  std::optional<Interval> transfer_interval_ns;
  std::optional<Interval> exposed_share_interval; // E / step
  std::optional<Interval> as_it_is_interval_ns;   // also absent if a process hides nothing
  // Other possible verdicts within the intervals. Nothing without intervals.
  std::optional<std::vector<BoundBy>> also_possible;
};
// For every step that was measured with all its parts, transfers anything, and has correct data.
// Points into `results`.
std::vector<BreakEven> break_evens(const std::vector<StepResult>& results);

// "compute-bound", or "compute-bound or overlap-bound" if the intervals allow both.
std::string verdict_in_words(const BreakEven& one);

// "compute-bound: it computes for 33.16 ms per step and transfers for 9.35 ms, 1.65 ms of it
// uncovered"
std::string in_words(const BreakEven& one);

} // namespace ncclprobe::analysis::steps
