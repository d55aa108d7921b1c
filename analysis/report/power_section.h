// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// The GPUs' power while cells ran, and bandwidth per watt. Empty if no power is known.
Report power_report(const RunSummary& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
