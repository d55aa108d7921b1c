// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "analysis/results/run_summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// What each GPU drew while cells ran, and busbw per watt (power.h). Empty where no power is known.
std::string render_power(const RunSummary& run, const std::vector<SettingResult>& results);

// The same as an array of one object a cell and setting.
nlohmann::ordered_json power_json(const RunSummary& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
