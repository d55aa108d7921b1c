// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

#include <string_view>

namespace ncclprobe::analysis::tune {

// The file of the folder that has the report as JSON.
inline constexpr std::string_view k_report_file = "tuning.json";

// The answer first. Then the gain of each target, all candidates and why each won or lost, what was
// not in the space, and how the answer was found.
Report tuning_report(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
