// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/verdict/tracing_cost.h"

#include <string>

namespace ncclprobe::analysis {

// "+0.3% [0.1, 0.5]"; without the interval if there are too few processes for one.
std::string cost_text(const TracingCost& cost);

// The cost of tracing for each cell; empty for a run without traced trials.
Report tracing_cost_report(const RunSummary& run);

} // namespace ncclprobe::analysis
