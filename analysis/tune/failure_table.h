// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

namespace ncclprobe::analysis::tune {

// Candidates that hung, crashed or delivered wrong data, and settings of candidates without an
// effect by the library's log: how, why, and in which trial. Not those that the library does not
// offer here.
TablePtr failure_table(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
