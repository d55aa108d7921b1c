// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tracing_cost.h"

#include "analysis/verdict.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {
namespace {

std::vector<double> process_times_ns(const SettingResult& result) {
  std::vector<double> times_ns;
  for (const ProcessTime& process : result.processes)
    times_ns.push_back(process.time.over_batches_ns.median);
  return times_ns;
}

double mean_log(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values)
    sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

bool usable(const SettingResult& result) {
  auto times_ns = process_times_ns(result);
  return result.data != DataState::wrong && !times_ns.empty() &&
         std::all_of(times_ns.begin(), times_ns.end(), [](double ns) { return ns > 0; });
}

} // namespace

std::vector<TracingCost> tracing_costs(const model::Run& run) {
  std::vector<SettingResult> untraced = setting_results(run);
  std::vector<TracingCost> costs;
  for (SettingResult& traced : setting_results(run, model::Purpose::traced)) {
    auto twin = std::find_if(untraced.begin(), untraced.end(), [&](const SettingResult& other) {
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
    cost.ratio = std::exp(mean_log(traced_ns) - mean_log(untraced_ns));
    cost.test = welch_ratio(traced_ns, untraced_ns, k_confidence);
    costs.push_back(std::move(cost));
  }
  return costs;
}

} // namespace ncclprobe::analysis
