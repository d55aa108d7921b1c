// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/tracing_cost.h"

#include "analysis/verdict/verdict.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

bool usable(const SettingResult& result) {
  return result.data != DataState::wrong && has_times(result);
}

} // namespace

std::vector<TracingCost> tracing_costs(const RunSummary& run) {
  std::vector<TracingCost> costs;
  std::vector<SettingResult> all_traced = setting_results(run, model::Purpose::traced);
  if (all_traced.empty())
    return costs;
  std::vector<SettingResult> untraced = setting_results(run);
  for (SettingResult& traced : all_traced) {
    auto twin = std::ranges::find_if(untraced, [&](const SettingResult& other) {
      return same_family(other, traced) && other.label.bytes == traced.label.bytes &&
             other.is_default == traced.is_default && other.settings == traced.settings &&
             other.setting == traced.setting;
    });
    if (twin == untraced.end() || !usable(traced) || !usable(*twin))
      continue;
    TracingCost cost;
    auto traced_ns = process_times_ns(traced), untraced_ns = process_times_ns(*twin);
    cost.traced = std::move(traced);
    cost.untraced_processes = untraced_ns.size();
    cost.ratio = geometric_mean(traced_ns) / geometric_mean(untraced_ns);
    cost.test = welch_ratio(traced_ns, untraced_ns, k_confidence);
    if (cost.test && cost.test->interval.high > k_widest_cost * cost.test->interval.low) {
      cost.test.reset();
      cost.too_few_processes = true;
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

} // namespace ncclprobe::analysis
