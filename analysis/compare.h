// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cell_summary.h"

#include <optional>
#include <string>
#include <vector>

// Each setting against the default. This describes; it does not judge: whether a difference would
// be seen again is not decided here.
namespace ncclprobe::analysis {

// Results that may be laid beside each other: one workload, type, operation, root, placement,
// number of ranks.
bool same_family(const SettingResult& a, const SettingResult& b);

struct Comparison {
  const SettingResult* setting = nullptr;
  const SettingResult* baseline = nullptr; // the default's result of the same size
  // Time of the default / time of the setting, which is also the ratio of the bandwidths: above 1
  // means the setting is faster.
  double speed_ratio = 0;
  double lowest_ratio = 0;  // fastest default against slowest run of the setting
  double highest_ratio = 0; // slowest default against fastest run of the setting
  // What the two took overlaps, so that [lowest_ratio, highest_ratio] includes 1: no difference to
  // show.
  bool within_spread = false;
};

// Nothing for the default itself and where one of the two has wrong data, no time or no
// counterpart.
std::optional<Comparison> compare(const SettingResult& setting,
                                  const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
