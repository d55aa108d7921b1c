// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The same operation launched in two ways, both with the default settings.
struct LaunchPair {
  const SettingResult* plain = nullptr;
  const SettingResult* changed = nullptr; // its variant has one more word
  std::string word;                       // "graph", "priority=-5"
};
// By that word, then in the order of `results`, which must stay.
std::vector<LaunchPair> launch_pairs(const std::vector<SettingResult>& results);

// A table for each of those words: its effect on the host's part of an operation, and on the whole.
Report launch_report(const model::Run& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
