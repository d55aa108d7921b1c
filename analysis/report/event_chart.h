// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/rank_trace.h"

#include <vector>

namespace ncclprobe::analysis {

// Beyond so many events a page has sums for each step, and only the slowest and the median step
// whole.
inline constexpr std::uint64_t k_most_whole_events = 2'000'000;

// What ran on the devices of these ranks (empty: all), a lane for each stream, on one clock. A rank
// whose clock is not known begins at 0. Reads one rank at a time. Errors: those of the source.
base::Result<EventChart> event_chart(const timeline::TraceSource& source,
                                     const timeline::Clocks& clocks, const std::vector<int>& ranks,
                                     std::uint64_t most_whole_events = k_most_whole_events);

} // namespace ncclprobe::analysis
