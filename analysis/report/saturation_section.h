// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "model/run.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// From which size on each collective has its bandwidth, setting by setting (saturation.h). Empty if
// none was measured at enough sizes.
std::string render_saturation(const model::Run& run, const std::vector<SettingResult>& results);

// The same as an array of one object a collective and setting.
nlohmann::ordered_json saturation_json(const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
