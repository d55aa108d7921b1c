// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::analysis {

// Where the power of GPUs comes from: NVML's counter of energy, where all of them have it, else the
// mean of NVML's readings of power.
enum class PowerSource { energy_counter, power_readings };

// The GPUs' power during a cell, for cells that ran long enough (k_power_window_ns).
struct PowerFigure {
  const SettingResult* result = nullptr;
  // GPU of a participating global rank: mean over the cell, then mean over processes.
  std::map<int, double> rank_w;
  double gpu_w = 0;                                 // mean over ranks
  std::size_t processes = 0;                        // with readings
  PowerSource source = PowerSource::energy_counter; // power_readings if it is so in any process
  // busbw / gpu_w: GB/s per watt of a GPU. Absent for anything but collectives, and with wrong
  // data.
  std::optional<double> busbw_per_w;
};
// Those of `results` (setting_results of the same run) with known power, in their order. Points
// into `results`.
std::vector<PowerFigure> power_figures(const RunSummary& run,
                                       const std::vector<SettingResult>& results);

struct ProcessPower {
  RankValues gpu_w; // by rank; of ranks with readings
  PowerSource source = PowerSource::energy_counter;
};
// Of the GPUs of the ranks that took part in one process.
ProcessPower process_power(const RunSummary& run, const SettingResult& result,
                           const ProcessTime& process);

} // namespace ncclprobe::analysis
