// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/work_growth.h"

#include "analysis/predict/weighted_fit.h"
#include "analysis/results/cell_summary.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace ncclprobe::analysis::cost_model {
namespace {

using WorkPoints = std::vector<WorkPoint>;

bool is_same(double a, double b) {
  return std::abs(a - b) <= k_same_size * std::max(a, b);
}

bool has_amount(const WorkPoints& points, double amount) {
  return std::any_of(points.begin(), points.end(),
                     [&](const WorkPoint& one) { return is_same(one.amount, amount); });
}

std::size_t different_amounts(const WorkPoints& points) {
  WorkPoints seen;
  for (const WorkPoint& one : points)
    if (!has_amount(seen, one.amount))
      seen.push_back(one);
  return seen.size();
}

// Doublings from the nearest measured amount.
double doublings(const WorkPoints& points, double amount) {
  double least = HUGE_VAL;
  for (const WorkPoint& one : points)
    least = std::min(least, std::abs(std::log2(amount / one.amount)));
  return least;
}

// The line's time at one amount relative to that at another; proportional if there is no line.
double ratio_of_times(const WorkPoints& points, double amount, double to_amount) {
  std::vector<std::vector<double>> features;
  std::vector<double> times_ns;
  for (const WorkPoint& one : points) {
    features.push_back({1, one.amount});
    times_ns.push_back(one.time_ns);
  }
  std::optional<Fit> line;
  if (different_amounts(points) >= 2)
    line = fit_times(features, times_ns);
  return line && line->at({1, to_amount}) > 0 ? line->at({1, amount}) / line->at({1, to_amount})
                                              : amount / to_amount;
}

// Standard deviation of the logarithms without the means of points and of processes, and its
// degrees of freedom.
std::optional<std::pair<double, double>> noise_of(const WorkPoints& points) {
  std::vector<std::vector<double>> logs; // of processes that have all points
  for (const auto& [process, first_ns] : points.front().process_ns) {
    std::vector<double> own;
    for (const WorkPoint& one : points)
      if (auto found = one.process_ns.find(process); found != one.process_ns.end())
        own.push_back(std::log(found->second));
    if (own.size() == points.size())
      logs.push_back(std::move(own));
  }
  const auto processes = static_cast<double>(logs.size());
  const auto numbers = static_cast<double>(points.size());
  if (processes < 2 || numbers < 2)
    return std::nullopt;
  std::vector<double> of_point(points.size(), 0);
  double of_all = 0;
  for (const auto& own : logs)
    for (std::size_t i = 0; i < own.size(); ++i) {
      of_point[i] += own[i] / processes;
      of_all += own[i] / processes / numbers;
    }
  double squares = 0;
  for (const auto& own : logs) {
    double of_process = 0;
    for (double value : own)
      of_process += value / numbers;
    for (std::size_t i = 0; i < own.size(); ++i)
      squares += std::pow(own[i] - of_point[i] - of_process + of_all, 2);
  }
  const double freedom = (processes - 1) * (numbers - 1);
  return std::pair(std::sqrt(squares / freedom), freedom);
}

} // namespace

WorkGrowth::WorkGrowth(std::vector<WorkPoint> points) : points_(std::move(points)) {
  if (auto noise = noise_of(points_)) {
    noise_ = noise->first;
    noise_quantile_ = student_quantile(noise->second, k_confidence);
  }
  WorkPoints before;
  for (const WorkPoint& one : points_) {
    if (different_amounts(before) >= 2 && !has_amount(before, one.amount)) {
      const WorkPoint& from = before.back();
      const double predicted_ns = from.in_step_ns * ratio_of_times(before, one.amount, from.amount);
      model_error_ = std::max(model_error_,
                              std::abs(predicted_ns - one.in_step_ns) / points_.back().in_step_ns);
      is_checked_ = true;
    }
    before.push_back(one);
  }
}

WorkGrowth::Time WorkGrowth::at(double ratio) const {
  Time out{.factor = ratio};
  if (points_.empty() || is_same(ratio, 1))
    return out;
  const double base = base_amount(), amount = ratio * base;
  out.factor = ratio_of_times(points_, amount, base);
  if (!is_checked_ || noise_quantile_ == 0) {
    out.is_told = false;
    out.model = std::max(std::abs(out.factor - 1), std::abs(out.factor - ratio));
    return out;
  }
  // Curvature matters more the farther the line is extrapolated. Few errors were seen, so the next
  // may well be larger.
  out.model = model_error_ * (1 + doublings(points_, amount));
  // The influence of each point: the ratio with that point slightly longer.
  constexpr double k_little = 1e-3;
  double squares = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    WorkPoints longer = points_;
    longer[i].time_ns *= 1 + k_little;
    squares += std::pow((ratio_of_times(longer, amount, base) - out.factor) / k_little, 2) /
               static_cast<double>(std::max<std::size_t>(points_[i].process_ns.size(), 1));
  }
  out.fit = noise_quantile_ * noise_ * std::sqrt(squares);
  return out;
}

} // namespace ncclprobe::analysis::cost_model
