// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/saturation.h"

#include "analysis/verdict/verdict.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

constexpr std::size_t k_least_sizes = 3;

bool counts(const SettingResult& result) {
  return result.busbw_gb_per_s.value_or(0) > 0 && result.data != DataState::wrong &&
         result.timing_mode == model::TimingMode::batch;
}

// `curve`: by size.
Saturation saturation_of(const std::vector<const SettingResult*>& curve) {
  auto busbw = [](const SettingResult* one) { return *one->busbw_gb_per_s; };
  Saturation found{.largest = curve.back(), .sizes = curve.size()};
  found.best =
      *std::ranges::max_element(curve, [&](auto* a, auto* b) { return busbw(a) < busbw(b); });
  const double enough = k_saturated_share * busbw(found.best);
  for (auto one = curve.rbegin(); one != curve.rend() && busbw(*one) >= enough; ++one)
    found.from = *one;
  if (found.from == nullptr)
    found.state = Saturated::falling;
  else if (found.from == found.largest) {
    found.state = Saturated::rising;
    found.from = nullptr;
  } else
    found.state = found.from == curve.front() ? Saturated::smallest : Saturated::reached;
  return found;
}

} // namespace

std::vector<Saturation> saturations(const std::vector<SettingResult>& results) {
  std::vector<std::vector<const SettingResult*>> curves;
  for (const SettingResult& result : results) {
    if (!counts(result))
      continue;
    auto same = std::ranges::find_if(curves, [&](const auto& curve) {
      return curve.front()->setting == result.setting && same_family(*curve.front(), result);
    });
    if (same == curves.end())
      curves.push_back({&result});
    else
      same->push_back(&result);
  }
  std::vector<Saturation> found;
  for (auto& curve : curves) {
    std::ranges::stable_sort(curve,
                             [](auto* a, auto* b) { return a->label.bytes < b->label.bytes; });
    if (curve.size() >= k_least_sizes)
      found.push_back(saturation_of(curve));
  }
  return found;
}

} // namespace ncclprobe::analysis
