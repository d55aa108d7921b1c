// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "analysis/results/run_summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// What a GB/s of busbw and an effective GPU cost at the user's price of a GPU (prices.h).
std::string render_prices(const RunSummary& run, const std::vector<SettingResult>& results,
                          double per_gpu);
nlohmann::ordered_json prices_json(const RunSummary& run, const std::vector<SettingResult>& results,
                                   double per_gpu);

} // namespace ncclprobe::analysis
