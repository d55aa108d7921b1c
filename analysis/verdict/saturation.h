// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "base/enum_names.h"

#include <cstddef>
#include <vector>

namespace ncclprobe::analysis {

// From which message size a collective reaches its bandwidth: the smallest measured size from which
// busbw stays at or above this share of the best, up to the largest size.
inline constexpr double k_saturated_share = 0.9;

enum class Saturated {
  reached,  // at a size between the smallest and the largest
  smallest, // already at the smallest measured: the true size is that or smaller
  rising,   // only at the largest: larger sizes may be faster
  falling,  // not at the largest: no size from which it stays
};

// One collective with one setting, over its sizes.
struct Saturation {
  Saturated state = Saturated::rising;
  const SettingResult* from = nullptr; // the saturation size; nullptr if there is none
  const SettingResult* best = nullptr;
  const SettingResult* largest = nullptr;
  std::size_t sizes = 0;
};
// For every collective that was measured back to back, with correct data, at three sizes or more;
// in the order of `results`, into which it points.
std::vector<Saturation> saturations(const std::vector<SettingResult>& results);

} // namespace ncclprobe::analysis
