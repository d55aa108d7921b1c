// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

namespace ncclprobe::analysis {

// Which CPUs each setting's workers ran on, and whether that is what was asked for. Empty if no
// setting asks for CPUs.
Report cpu_report(const model::Run& run);

} // namespace ncclprobe::analysis
