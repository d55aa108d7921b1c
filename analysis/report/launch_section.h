// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The same operation with the default settings, launched directly and as a graph, or on streams of
// two priorities: what the host takes for a launch, and how long it takes in all.
struct LaunchPair {
  const SettingResult* plain = nullptr;
  const SettingResult* changed = nullptr;
  std::string word; // of the variant, which is all that sets them apart: "graph", "priority=-5"
};
std::vector<LaunchPair> launch_pairs(const std::vector<SettingResult>& results);

// Empty without pairs.
std::string render_launches(const model::Run& run, const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
