// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// What the GPUs counted on NVLink and PCIe while long cells ran, beside busbw, with the share of
// what the links can carry. Empty without readings.
std::string render_traffic(const RunSummary& run, const std::vector<SettingResult>& results);
nlohmann::ordered_json traffic_json(const RunSummary& run);

} // namespace ncclprobe::analysis
