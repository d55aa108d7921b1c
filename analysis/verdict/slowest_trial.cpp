// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/slowest_trial.h"

namespace ncclprobe::analysis {

std::optional<SlowestTrial> slowest_trial(const std::vector<SettingResult>& results) {
  struct Trial {
    std::string setting;
    std::vector<double> slower; // by cell
  };
  std::map<int, Trial> trials;
  for (const SettingResult& result : results) {
    if (result.processes.size() < 2 || !has_times(result))
      continue;
    const double typical_ns = median(process_times_ns(result));
    for (const ProcessTime& process : result.processes) {
      Trial& trial = trials[process.trial];
      trial.setting = result.setting;
      trial.slower.push_back(process.time.over_batches_ns.median / typical_ns);
    }
  }
  std::optional<SlowestTrial> slowest;
  for (const auto& [id, trial] : trials)
    if (double slower = median(trial.slower); !slowest || slower > slowest->slower)
      slowest = SlowestTrial{id, trial.setting, slower};
  return slowest;
}

} // namespace ncclprobe::analysis
