// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// "Is this normal?": the largest message of each collective under the default settings, against
// what others published for this kind of node. Empty for what cannot be judged: no GPUs, several
// hosts, GPUs that differ, made-up numbers.
Report reference_range_report(const model::Run& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
