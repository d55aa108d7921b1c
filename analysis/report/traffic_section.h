// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// The GPUs' NVLink and PCIe counters while long cells ran, beside busbw, with the share of the
// links' rates. Empty without readings.
Report traffic_report(const RunSummary& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
