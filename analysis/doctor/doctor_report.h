// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_result.h"
#include "analysis/report_value/report_value.h"
#include "analysis/survey/case.h"

namespace ncclprobe::analysis::doctor {

// For people: software, the GPU of each rank, the decision tree, the findings worst first (`ok`
// ones take one line each), a summary. For machines also the case behind them, which --offline
// reads again. CSV has a row for each finding.
Report doctor_report(const Case& one, const std::vector<CheckResult>& findings);

} // namespace ncclprobe::analysis::doctor
