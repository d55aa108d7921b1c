// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The trial with the longest times relative to other trials of its setting.
struct SlowestTrial {
  int trial = 0;
  std::string setting;
  double slower = 1; // median over its cells of (its time / the setting's median in the cell)
};
// Nothing if no trial shares a cell with others.
std::optional<SlowestTrial> slowest_trial(const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
