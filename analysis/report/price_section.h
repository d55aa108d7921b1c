// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"
#include "analysis/steps/scaling.h"

#include <vector>

namespace ncclprobe::analysis {

// The cost of a GB/s and of an effective GPU, at the user's price of a GPU (prices.h). The scalings
// must stay.
Report price_report(const RunSummary& run, const std::vector<SettingResult>& results,
                    const std::vector<steps::Scaling>& scalings, double per_gpu);

} // namespace ncclprobe::analysis
