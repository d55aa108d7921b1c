// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/default_level.h"

#include "analysis/statistics/inference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace ncclprobe::analysis::search {

// Slow drift is no disturbance: the scatter is that of successive times.
DefaultLevel::Moments DefaultLevel::of_last() const {
  constexpr std::size_t k_scatter_times = 8;
  const auto last = std::span(times_).last(std::min(times_.size(), k_scatter_times));
  Moments out{.degrees_of_freedom = static_cast<double>(last.size()) - 1};
  for (std::size_t i = 1; i < last.size(); ++i)
    out.variance +=
        std::pow(last[i].log_time - last[i - 1].log_time, 2) / 2 / out.degrees_of_freedom;
  return out;
}

// By the last three times.
DefaultLevel::Expected DefaultLevel::by_level() const {
  constexpr std::size_t k_level_times = 3;
  const auto last = std::span(times_).last(std::min(times_.size(), k_level_times));
  const auto count = static_cast<double>(last.size());
  Expected out{.log_time = 0, .variance = 1 / count};
  for (const Time& one : last)
    out.log_time += one.log_time / count;
  return out;
}

// By the straight line through the last eight times.
DefaultLevel::Expected DefaultLevel::by_trend(int trial) const {
  constexpr std::size_t k_trend_times = 8;
  constexpr std::size_t k_least_times = 5;
  if (times_.size() < k_least_times)
    return by_level();
  const auto last = std::span(times_).last(std::min(times_.size(), k_trend_times));
  const auto count = static_cast<double>(last.size());
  double mean_trial = 0, mean_time = 0, squares = 0, products = 0;
  for (const Time& one : last) {
    mean_trial += one.trial / count;
    mean_time += one.log_time / count;
  }
  for (const Time& one : last) {
    squares += std::pow(one.trial - mean_trial, 2);
    products += (one.trial - mean_trial) * (one.log_time - mean_time);
  }
  const double ahead = trial - mean_trial;
  return {.log_time = mean_time + products / squares * ahead,
          .variance = 1 / count + ahead * ahead / squares};
}

std::optional<DefaultLevel::Check> DefaultLevel::check(int trial, double log_time) const {
  constexpr std::size_t k_least_times = 3;
  constexpr double k_prediction = 0.99;
  constexpr double k_least_limit = 0.03;
  if (times_.size() < k_least_times)
    return std::nullopt;
  const Moments last = of_last();
  const double quantile = student_quantile(last.degrees_of_freedom, k_prediction);
  auto against = [&](const Expected& expected) {
    const double limit = quantile * std::sqrt(last.variance * (1 + expected.variance));
    return Check{.off = log_time - expected.log_time, .limit = std::max(limit, k_least_limit)};
  };
  const Check level = against(by_level());
  return level.is_off() ? against(by_trend(trial)) : level;
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
