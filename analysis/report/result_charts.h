// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <vector>

// The pictures of results, for writers that can draw.
namespace ncclprobe::analysis {

// Bandwidth and time over the sizes of one table of results, a line for each setting, with every
// process's value. Nothing if the results have no size or only one. Results with wrong data are
// left out. `lines`: reference values of the bandwidth, in GB/s.
std::vector<Chart> result_charts(const std::vector<const SettingResult*>& results,
                                 std::vector<ReferenceLine> lines);

// Each comparison with its interval, the settings below each other. The comparisons must stay.
Chart comparison_chart(std::string title, const std::vector<const Comparison*>& comparisons,
                       const Verdicts& verdicts);

// The same for training steps: "2 ranks, all" names the part and the ranks of each.
using StepComparison = std::pair<std::string, const Comparison*>;
Chart step_comparison_chart(std::string title, std::vector<StepComparison> comparisons,
                            const Verdicts& verdicts);

} // namespace ncclprobe::analysis
