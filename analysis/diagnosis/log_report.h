// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_diagnosis.h"
#include "analysis/report_value/report_value.h"

#include <string>

namespace ncclprobe::analysis {

// `name` is the log's name. The findings must stay. CSV has a row for each known problem.
Report log_report(const std::string& name, const LogFindings& findings,
                  const LogDiagnosis& diagnosis);

} // namespace ncclprobe::analysis
