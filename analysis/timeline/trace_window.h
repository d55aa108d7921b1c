// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/timeline/activities.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis::timeline {

// A part of a trace as users write it: "0:5ms", "2s:", ":500ms" count from the begin of the timed
// part; "step:3" and "step:3-5" are whole steps.
struct WindowRequest {
  std::string text;
  std::optional<std::int64_t> from_ns, until_ns;
  struct Steps {
    std::size_t first = 0, last = 0; // from 0, in the order in which they began
  };
  std::optional<Steps> steps;
};
// Errors: invalid_argument, with examples.
base::Result<WindowRequest> parse_window(const std::string& text);

// Where a trace and its steps lie, on the clock of the first rank's host, ns.
struct TraceExtent {
  std::int64_t first_ns = 0; // of any event
  // The first operation or kernel of the timed part; the first event if the timed part is unknown.
  std::int64_t timed_ns = 0;
  std::int64_t last_ns = 0;
  struct Step {
    StepKey key;
    Span span; // from the first rank's begin to the last one's end
  };
  std::vector<Step> steps; // in the order in which they began
};
// Covers the ranks whose clocks are known, and reads them all. Errors: those of the source,
// not_found if it has no events.
base::Result<TraceExtent> extent_of(const TraceSource& source, const Clocks& clocks);

// Errors: not_found for steps that do not exist, and for times outside the whole trace; with the
// extent of the trace.
base::Result<Span> resolve(const WindowRequest& window, const TraceExtent& extent);
// "the timed part lasts 12.3 ms (40 steps, 0 to 39) and begins 1.2 s after the first event"
std::string describe(const TraceExtent& extent);
// The error of an empty window.
base::Error empty_window(const WindowRequest& window, const TraceExtent& extent);

// The source without the parts outside the window; of a trace with steps, only whole steps are
// left. `told`: a description of that. Errors: as resolve(); not_found if nothing is left.
base::Result<TraceSource> restricted(TraceSource source, const WindowRequest& window,
                                     Finding& told);

} // namespace ncclprobe::analysis::timeline
