// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_diagnosis.h"

#include <string>

namespace ncclprobe::analysis {

// The diagnosis as text. `name` is the log's name.
std::string render_log_diagnosis(const std::string& name, const LogFindings& findings,
                                 const LogDiagnosis& diagnosis);

// The same as one JSON object.
std::string render_log_diagnosis_json(const std::string& name, const LogFindings& findings,
                                      const LogDiagnosis& diagnosis);

} // namespace ncclprobe::analysis
