// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

// In-process settings against the default of the same processes. What differs from process to
// process (its memory, its channels, the drift over the run) is the same for both sides of a pair,
// so it does not count as scatter.
namespace ncclprobe::analysis {

// The default's time / the setting's, for each process that measured both, in the order of the
// trials. Empty if no process did, or if the setting is not an in-process one.
std::vector<double> paired_ratios(const SettingResult& baseline, const SettingResult& setting);

// The two arms of the default in each process that measured it twice: the time of one / that of the
// other. The first measurement is on top in every second process, so a drift within processes
// cancels out. Empty for other results.
std::vector<double> paired_arms(const SettingResult& result);

// The typical scatter of these ratios, as TypicalScatter is that of processes. The default's arms
// count as one setting.
class PairedScatter {
public:
  explicit PairedScatter(const std::vector<SettingResult>& results);

  // Over all settings in the cell of `result`.
  std::optional<LogScatter> in_cell_of(const SettingResult& result) const;
  // Over all cells of the size class of `result`, with its setting.
  std::optional<LogScatter> in_size_class_of(const SettingResult& result) const;

private:
  using CellKey = std::tuple<model::CellLabel, int, model::TimingMode>; // second: ranks
  using ClassKey = std::tuple<std::string, int>;                        // setting, size class
  std::map<CellKey, LogScatter> by_cell_;
  std::map<ClassKey, LogScatter> by_class_;
};

} // namespace ncclprobe::analysis
