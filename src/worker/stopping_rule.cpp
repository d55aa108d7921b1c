// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/stopping_rule.h"

#include <algorithm>

namespace ncclprobe::worker {

Effort plan_effort(const model::Timing& timing, double iteration_ns) {
  Effort effort{std::max(1, timing.iterations), std::max(1, timing.batches)};
  if (timing.budget_ns <= 0 || iteration_ns <= 0)
    return effort;
  double affordable = static_cast<double>(timing.budget_ns) / iteration_ns; // iterations in all
  if (affordable >= static_cast<double>(effort.iterations) * effort.batches)
    return effort;
  effort.iterations =
      std::clamp(static_cast<int>(affordable / effort.batches), 1, effort.iterations);
  int fewest = std::min(k_least_batches, effort.batches);
  effort.batches =
      std::clamp(static_cast<int>(affordable / effort.iterations), fewest, effort.batches);
  return effort;
}

int remaining_warmups(const model::Timing& timing, double iteration_ns) {
  int wanted = std::max(0, timing.warmups - 1);
  if (timing.budget_ns <= 0 || iteration_ns <= 0)
    return wanted;
  double affordable = static_cast<double>(timing.budget_ns) / 4 / iteration_ns;
  return affordable >= wanted ? wanted : static_cast<int>(affordable);
}

} // namespace ncclprobe::worker
