// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare.h"

#include <algorithm>

namespace ncclprobe::analysis {

bool same_family(const SettingResult& a, const SettingResult& b) {
  model::CellLabel label = a.label;
  label.bytes = b.label.bytes;
  return label == b.label && a.ranks == b.ranks;
}

std::optional<Comparison> compare(const SettingResult& setting,
                                  const std::vector<SettingResult>& results) {
  if (setting.is_default || setting.data == DataState::wrong)
    return std::nullopt;
  auto baseline = std::find_if(results.begin(), results.end(), [&](const SettingResult& other) {
    return other.is_default && other.label == setting.label && other.ranks == setting.ranks;
  });
  if (baseline == results.end() || baseline->data == DataState::wrong)
    return std::nullopt;
  if (!(setting.lowest_ns > 0) || !(baseline->lowest_ns > 0))
    return std::nullopt;
  return Comparison{.setting = &setting,
                    .baseline = &*baseline,
                    .speed_ratio = baseline->time_ns / setting.time_ns,
                    .lowest_ratio = baseline->lowest_ns / setting.highest_ns,
                    .highest_ratio = baseline->highest_ns / setting.lowest_ns,
                    .within_spread = baseline->lowest_ns <= setting.highest_ns &&
                                     setting.lowest_ns <= baseline->highest_ns};
}

} // namespace ncclprobe::analysis
