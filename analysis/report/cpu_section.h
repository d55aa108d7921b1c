// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

namespace ncclprobe::analysis {

// The CPUs that each setting's workers ran on, and whether they are the requested ones. Empty if no
// setting requests CPUs.
Report cpu_report(const model::Run& run);

} // namespace ncclprobe::analysis
