// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/timeline.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// What the figures are of, told by whoever has the trace.
struct TimelineHeading {
  std::string title;                // "trial 7 of run.h5, kernels"
  std::string cost;                 // what tracing cost, "+0.3% [0.1, 0.5]"; empty: unknown
  std::vector<std::string> notes;   // what is missing, and the like
  std::map<int, std::string> cells; // by index in the trial, "all_reduce 1M"; may be empty
};

// For people. Formulas: docs/method.md, "The timeline".
std::string render_timeline(const timeline::Timeline& timeline, const TimelineHeading& heading);
// One JSON object; times in ns.
std::string render_timeline_json(const timeline::Timeline& timeline,
                                 const TimelineHeading& heading);

} // namespace ncclprobe::analysis
