// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/default_level.h"

#include "analysis/statistics/inference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace ncclprobe::analysis::search {

DefaultLevel::Moments DefaultLevel::of_last() const {
  constexpr std::size_t k_most_times = 8; // so that slow drift is no disturbance
  const auto last = std::span(times_).last(std::min(times_.size(), k_most_times));
  Moments out{.count = static_cast<double>(last.size())};
  for (const Time& one : last)
    out.mean += one.log_time / out.count;
  for (const Time& one : last)
    out.variance += std::pow(one.log_time - out.mean, 2) / (out.count - 1);
  return out;
}

std::optional<DefaultLevel::Check> DefaultLevel::check(double log_time) const {
  constexpr std::size_t k_least_times = 3;
  constexpr double k_prediction = 0.99;
  constexpr double k_least_limit = 0.03;
  if (times_.size() < k_least_times)
    return std::nullopt;
  const Moments last = of_last();
  const double limit = student_quantile(last.count - 1, k_prediction) *
                       std::sqrt(last.variance * (1 + 1 / last.count));
  return Check{.off = log_time - last.mean, .limit = std::max(limit, k_least_limit)};
}

double DefaultLevel::variance() const {
  constexpr double k_least_deviation = 1e-3;
  const double least = k_least_deviation * k_least_deviation;
  return times_.size() < 2 ? least : std::max(of_last().variance, least);
}

void DefaultLevel::add(int trial, double log_time) {
  times_.push_back({trial, log_time});
}

double DefaultLevel::near(int trial) const {
  constexpr double k_half = 4; // trials
  double sum = 0, weights = 0;
  for (const Time& one : times_) {
    const double weight = std::exp2(-std::abs(one.trial - trial) / k_half);
    sum += weight * one.log_time;
    weights += weight;
  }
  return sum / weights;
}

} // namespace ncclprobe::analysis::search
