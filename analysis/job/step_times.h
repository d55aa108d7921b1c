// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/timeline/timeline.h"

#include <optional>

namespace ncclprobe::analysis::job {

// Of the steps of one kind: means over ranks of each step's length.
struct StepTimes {
  double mean_ns = 0;
  std::optional<Interval> interval; // 95% of the mean, bootstrap over blocks of steps
  double p95_ns = 0;                // 95% of steps are at most this long
};
// Nothing if no rank has such steps. From at most 512 steps, evenly chosen.
std::optional<StepTimes> step_times(const timeline::Timeline& timeline, int kind);

} // namespace ncclprobe::analysis::job
