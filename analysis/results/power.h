// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::analysis {

// The GPUs' power during a cell, for cells that ran long enough (k_power_window_ns).
struct PowerFigure {
  const SettingResult* result = nullptr;
  // GPU of a participating global rank: mean of readings, then mean over processes.
  std::map<int, double> rank_w;
  double gpu_w = 0;          // mean over ranks
  std::size_t processes = 0; // with readings
  // busbw / gpu_w: GB/s per watt of a GPU. Absent for anything but collectives, and with wrong
  // data.
  std::optional<double> busbw_per_w;
};
// Those of `results` (setting_results of the same run) with known power, in their order. Points
// into `results`.
std::vector<PowerFigure> power_figures(const RunSummary& run,
                                       const std::vector<SettingResult>& results);

// Power of the GPUs of the ranks that took part in one process, W; of ranks with readings.
RankValues process_power_w(const RunSummary& run, const SettingResult& result,
                           const ProcessTime& process);

} // namespace ncclprobe::analysis
