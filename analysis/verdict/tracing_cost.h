// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <optional>
#include <vector>

// The cost of tracing: traced trials compared with their untraced twins, which ran in the same
// random blocks. As everywhere, the unit of observation is a process's median time
// (docs/method.md).
namespace ncclprobe::analysis {

struct TracingCost {
  SettingResult traced;
  std::size_t untraced_processes = 0;
  double ratio = 1; // geometric mean of the traced processes' times / that of the untraced ones'
  // Of that ratio, at k_confidence; needs two processes on each side.
  std::optional<RatioTest> test;
  // There is a test, but its interval is too wide to be useful.
  bool too_few_processes = false;
};

// An interval whose ends differ by more is not shown: with two processes on each side it may reach
// from nothing to millions.
inline constexpr double k_widest_cost = 4;

// One for each setting and cell that was measured both ways, in the order of setting_results().
std::vector<TracingCost> tracing_costs(const RunSummary& run);

} // namespace ncclprobe::analysis
