// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/overlap.h"

#include <algorithm>

namespace ncclprobe::analysis::steps {
namespace {

using model::StepParts;

const StepResult* with_parts(const std::vector<StepResult>& results, const StepResult& all,
                             StepParts parts) {
  auto found = std::ranges::find_if(results, [&](const StepResult& other) {
    return other.step.parts == parts && same_step(other, all) && other.data != DataState::wrong;
  });
  return found == results.end() ? nullptr : &*found;
}

void add_ratio(std::vector<double>& ratios, double over, double under) {
  if (over > 0 && under > 0)
    ratios.push_back(over / under);
}

std::optional<Estimate> ratio_of(const std::vector<double>& ratios) {
  return ratios.empty() ? std::nullopt : std::optional(ratio_estimate(ratios, k_confidence));
}

} // namespace

std::vector<Overlap> overlaps(const std::vector<StepResult>& results) {
  std::vector<Overlap> out;
  for (const StepResult& all : results) {
    if (all.step.parts != StepParts::all || all.data == DataState::wrong || all.step.copies_input())
      continue;
    Overlap one{.all = &all,
                .compute = with_parts(results, all, StepParts::compute),
                .communication = with_parts(results, all, StepParts::communication)};
    if (!one.compute || !one.communication)
      continue;
    std::vector<double> serial_ns, best_ns, efficiencies, computes, communications;
    for (const StepProcess& process : all.processes) {
      const StepProcess* compute = one.compute->process_of(process.trial);
      const StepProcess* communication = one.communication->process_of(process.trial);
      if (!compute || !communication)
        continue;
      const StepTimes& both = process.figures.times;
      const StepTimes& k = compute->figures.times;
      const StepTimes& c = communication->figures.times;
      serial_ns.push_back(k.step_ns + c.step_ns);
      best_ns.push_back(std::max(k.step_ns, c.step_ns));
      if (double most_ns = serial_ns.back() - best_ns.back(); most_ns > 0)
        efficiencies.push_back((serial_ns.back() - both.step_ns) / most_ns);
      add_ratio(computes, both.compute_ns - both.prepare_ns, k.compute_ns - k.prepare_ns);
      add_ratio(communications, both.transfer_ns, c.transfer_ns);
    }
    if (serial_ns.empty())
      continue;
    one.serial_ns = median(std::move(serial_ns));
    one.best_ns = median(std::move(best_ns));
    if (!efficiencies.empty())
      one.efficiency = mean_estimate(efficiencies, k_confidence);
    one.compute_slowdown = ratio_of(computes);
    one.communication_slowdown = ratio_of(communications);
    out.push_back(one);
  }
  return out;
}

} // namespace ncclprobe::analysis::steps
