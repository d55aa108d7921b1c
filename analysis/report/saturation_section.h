// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// The size from which each collective reaches its bandwidth. Empty if it is unknown for all.
Report saturation_report(const model::Run& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
