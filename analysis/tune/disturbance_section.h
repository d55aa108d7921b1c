// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

namespace ncclprobe::analysis::tune {

// A row for each trial in which the default was far from its usual time, and how far.
TablePtr disturbance_table(const Tuning& tuning);

// That there were some, which trials do not count for it, and how many ran on throttled GPUs.
std::vector<Finding> disturbance_findings(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
