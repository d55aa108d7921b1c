// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

namespace ncclprobe::analysis::tune {

// A row for each trial that ran, in their order: why, with which settings, and how it ended.
TablePtr trial_table(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
