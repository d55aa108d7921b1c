// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/steps/step_results.h"
#include "base/enum_names.h"

#include <optional>
#include <string>
#include <vector>

// How much a step must compute for its communication not to cost anything.
//
// Of a step on several ranks, with all its parts, let
//   K  be the time in which it computes (|K|, without what only communication asks for),
//   X  the time in which anything is transferred, hidden or not; waiting for late ranks is none of
//      it, as no interconnect helps against that,
//   E  exposed transfer: what of X nothing is computed beside; H = X - E is hidden.
// Then
//   break-even, at best   = X          with less computing, some transfer is exposed however it is
//                                      scheduled; with as much, all of it could be hidden
//   break-even, as it is  = K X / H    with computing made longer (larger batches, longer
//                                      sequences) that hides as much of X a millisecond as it
//                                      does in this step; absent where nothing is hidden
// Both are of this step's bytes, on these ranks, with these settings.
namespace ncclprobe::analysis::steps {

// What is less of a step does not bound it: transfer E, or all else in which nothing is computed
// (waiting for other ranks, idle, input copies; exposed) together.
inline constexpr double k_bound_share = 0.1;

enum class BoundBy {
  computing,    // E and all else are less than that share each
  other,        // E is, all else is not: no interconnect helps
  overlap,      // K would suffice to hide X, yet E is that share or more
  interconnect, // K < X, and E is that share or more: no schedule hides it all
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

  // Student's, over processes; three processes or more have one.
  std::optional<Interval> computing_interval_ns;
  std::optional<Interval> transfer_interval_ns;
  std::optional<Interval> exposed_share_interval; // E / step
  std::optional<Interval> as_it_is_interval_ns;   // absent too where a process hides nothing
  // Other verdicts that are possible within the intervals. Nothing where there are no intervals.
  std::optional<std::vector<BoundBy>> also_possible;
};
// Of every step that was measured with all its parts and transfers anything, with right data.
// Points into `results`.
std::vector<BreakEven> break_evens(const std::vector<StepResult>& results);

// "compute-bound", or "compute-bound or overlap-bound" where the intervals allow both.
std::string verdict_in_words(const BreakEven& one);

// "compute-bound: it computes for 33.16 ms a step and transfers for 9.35 ms, 1.65 ms of it
// uncovered"
std::string in_words(const BreakEven& one);

} // namespace ncclprobe::analysis::steps
