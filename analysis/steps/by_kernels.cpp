// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/by_kernels.h"

#include "analysis/timeline/timeline.h"

#include <algorithm>

namespace ncclprobe::analysis::steps {

void ByKernels::divide(std::size_t steps_per_launch) {
  steps *= steps_per_launch;
  for (double* ns : {&step_ns, &compute_ns, &communication_ns, &hidden_ns, &exposed_ns})
    *ns /= static_cast<double>(steps_per_launch);
}

std::map<int, ByKernels> by_kernels(const timeline::Timeline& trace, int trial) {
  const bool is_whole =
      trace.ledger.named_losses() == 0 && trace.ledger.unexplained().value_or(0) == 0 &&
      std::ranges::none_of(trace.ranks, &timeline::RankTimeline::from_nccl) &&
      std::ranges::none_of(trace.ranks, [](const auto& rank) { return rank.without_times > 0; });
  if (!is_whole)
    return {};
  timeline::ByCell<timeline::PartsSum> cells;
  for (const timeline::RankTimeline& rank : trace.ranks)
    for (const auto& [cell, sum] : rank.cells)
      if (cell >= 0 && sum.steps > 0)
        cells[cell].add(sum);
  std::map<int, ByKernels> out;
  for (const auto& [cell, sum] : cells) {
    auto mean = [steps = static_cast<double>(sum.steps)](std::int64_t ns) {
      return static_cast<double>(ns) / steps;
    };
    out[cell] = {.trial = trial,
                 .steps = sum.steps,
                 .step_ns = mean(sum.parts.length_ns),
                 .compute_ns = mean(sum.parts.compute_ns),
                 .communication_ns = mean(sum.parts.communication_ns),
                 .hidden_ns = mean(sum.parts.hidden_ns),
                 .exposed_ns = mean(sum.parts.exposed_ns())};
  }
  return out;
}

} // namespace ncclprobe::analysis::steps
