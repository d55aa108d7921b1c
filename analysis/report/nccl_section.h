// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/verdict/verdict.h"

#include <vector>

namespace ncclprobe::analysis {

// NCCL's own predictions beside the measurements, and where its choice loses (nccl_prediction.h).
// Empty if the run has none.
Report nccl_prediction_report(const model::Run& run, const std::vector<SettingResult>& results,
                              const Verdicts& verdicts);

} // namespace ncclprobe::analysis
