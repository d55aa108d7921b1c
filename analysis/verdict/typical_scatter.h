// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace ncclprobe::analysis {

// The median of the variances, as well known as all of them together. At least one.
LogScatter typical(const std::vector<LogScatter>& scatters);

// The typical scatter of processes, from more of them than one comparison has.
//
// A cell may have two speeds, and a process gets one of them by chance. If all processes of a
// comparison happen to run at the same speed, their own scatter suggests that there is only one.
// The other processes of the run show both.
//
// Typical is the median, so one setting or cell that is much noisier than the rest changes little.
// The default's two arms count as two settings. Results with wrong data do not count. Nor do, in a
// cell, in-process settings: their processes are those of another setting.
class TypicalScatter {
public:
  explicit TypicalScatter(const std::vector<SettingResult>& results);

  // Over all settings in the cell of `result`.
  std::optional<LogScatter> in_cell_of(const SettingResult& result) const;
  // Over all cells of the size class of `result`, with its setting.
  std::optional<LogScatter> in_size_class_of(const SettingResult& result) const;

private:
  using CellKey = std::tuple<model::CellLabel, int, model::TimingMode>; // second: ranks
  using ClassKey = std::tuple<bool, std::string, int>; // default or not, setting, size class
  static CellKey cell_of(const SettingResult& result);
  static ClassKey class_of(const SettingResult& result);

  std::map<CellKey, LogScatter> by_cell_;
  std::map<ClassKey, LogScatter> by_class_;
};

} // namespace ncclprobe::analysis
