// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// "Is this normal?": the largest message of each collective with default settings, compared with
// published results for this kind of node. Empty if that is impossible: no GPUs, several hosts,
// different GPUs, made-up numbers.
Report reference_range_report(const model::Run& run, const std::vector<SettingResult>& results);

// The published figure and the ceiling of the links, for bus bandwidths of these results; only
// those that are known.
std::vector<ReferenceLine> reference_lines(const model::Run& run,
                                           const std::vector<const SettingResult*>& results);

} // namespace ncclprobe::analysis
