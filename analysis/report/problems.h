// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

namespace ncclprobe::analysis {

inline constexpr FindingKind k_wrong_data{"wrong_data", Severity::error,
                                          "{cell} with {setting} (trial {trial}){ranks}: {what}"};

// A finding for each cell that delivered wrong data, to stand where nobody can miss it; empty if
// none did.
Section wrong_data_section(const model::Run& run);

// What was not measured and why: trials with the same setting and the same end stand together, with
// ranks, how far each worker came, its last output, and what to do next. Nothing to show if all
// went well.
Report problem_report(const model::Run& run);

} // namespace ncclprobe::analysis
