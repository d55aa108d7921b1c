// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::analysis {

// What the GPUs drew while a cell ran, of cells that ran for long enough (k_power_window_ns).
struct PowerFigure {
  const SettingResult* result = nullptr;
  // GPU of a global rank that takes part: mean of readings, mean over processes.
  std::map<int, double> rank_w;
  double gpu_w = 0;          // mean over ranks
  std::size_t processes = 0; // with readings
  // busbw / gpu_w: GB/s that a GPU gets for each watt that it draws. Absent for what is no
  // collective, and with wrong data.
  std::optional<double> busbw_per_w;
};
// Of those of `results` (setting_results of the same run) whose power is known, in their order.
// Points into `results`.
std::vector<PowerFigure> power_figures(const RunSummary& run,
                                       const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
