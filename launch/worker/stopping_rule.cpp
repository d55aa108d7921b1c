// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/stopping_rule.h"

#include "base/order_statistics.h"

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

namespace {

constexpr double k_confidence = 0.95;

bool precise(const SampleLimits& limits, const std::vector<double>& samples) {
  auto interval = median_interval(samples);
  if (!interval)
    return false;
  double allowed = limits.target_interval * interval->median;
  return interval->median - interval->low <= allowed &&
         interval->high - interval->median <= allowed;
}

} // namespace

std::optional<MedianInterval> median_interval(std::vector<double> values) {
  auto left_out = base::left_out_of_median_interval(values.size(), k_confidence);
  if (!left_out)
    return std::nullopt;
  std::ranges::sort(values);
  std::size_t n = values.size();
  return MedianInterval{values[*left_out], (values[(n - 1) / 2] + values[n / 2]) / 2,
                        values[n - 1 - *left_out]};
}

SampleLimits limits_for(const model::Timing& timing, const Effort& effort) {
  bool latency = timing.mode == model::TimingMode::latency;
  std::int64_t per_batch = latency ? effort.iterations : 1;
  SampleLimits limits;
  limits.least = effort.batches * per_batch;
  limits.most = limits.least;
  limits.target_interval = timing.target_interval;
  limits.budget_ns = timing.budget_ns;
  if (timing.target_interval > 0)
    limits.most = std::max(effort.batches, timing.max_batches) * per_batch;
  return limits;
}

bool is_out_of_time(const SampleLimits& limits, std::int64_t spent_ns) {
  return limits.budget_ns > 0 && spent_ns > limits.budget_ns;
}

Vote vote(const SampleLimits& limits, const std::vector<double>& samples, std::int64_t spent_ns) {
  auto n = static_cast<std::int64_t>(samples.size());
  if (is_out_of_time(limits, spent_ns))
    return Vote::out_of_time;
  if (n < limits.least)
    return Vote::more;
  if (n >= limits.most)
    return Vote::enough;
  return precise(limits, samples) ? Vote::enough : Vote::more;
}

} // namespace ncclprobe::worker
