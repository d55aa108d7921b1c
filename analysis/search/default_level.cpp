// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/default_level.h"

#include "analysis/statistics/inference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace ncclprobe::analysis::search {

// Slow drift is no disturbance: the level is that of the last times, and the scatter that of
// successive ones.
DefaultLevel::Moments DefaultLevel::of_last() const {
  constexpr std::size_t k_level_times = 3;
  constexpr std::size_t k_scatter_times = 8;
  const auto last = std::span(times_).last(std::min(times_.size(), k_scatter_times));
  Moments out{.degrees_of_freedom = static_cast<double>(last.size()) - 1};
  for (std::size_t i = 1; i < last.size(); ++i)
    out.variance +=
        std::pow(last[i].log_time - last[i - 1].log_time, 2) / 2 / out.degrees_of_freedom;
  const auto level = last.last(std::min(last.size(), k_level_times));
  out.count = static_cast<double>(level.size());
  for (const Time& one : level)
    out.mean += one.log_time / out.count;
  return out;
}

std::optional<DefaultLevel::Check> DefaultLevel::check(double log_time) const {
  constexpr std::size_t k_least_times = 3;
  constexpr double k_prediction = 0.99;
  constexpr double k_least_limit = 0.03;
  if (times_.size() < k_least_times)
    return std::nullopt;
  const Moments last = of_last();
  const double limit = student_quantile(last.degrees_of_freedom, k_prediction) *
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
