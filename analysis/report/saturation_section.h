// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// From which size on each collective has its bandwidth. Empty if none can tell.
Report saturation_report(const model::Run& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
