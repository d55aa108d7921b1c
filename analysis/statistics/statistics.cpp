// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/statistics/statistics.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {
namespace {

void check(const std::vector<double>& values) {
  if (values.empty())
    raise(Errc::invalid_argument, "statistics of no values");
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); }))
    raise(Errc::invalid_argument, "statistics of values that include a NaN");
}

void sort(std::vector<double>& values) {
  check(values);
  std::ranges::sort(values);
}

std::vector<double> sorted(std::vector<double> values) {
  sort(values);
  return values;
}

double quantile_of_sorted(const std::vector<double>& values, double p) {
  double position = p * static_cast<double>(values.size() - 1);
  auto below = static_cast<std::size_t>(position);
  if (below + 1 >= values.size())
    return values.back();
  double part = position - static_cast<double>(below);
  return values[below] + part * (values[below + 1] - values[below]);
}

} // namespace

double quantile(std::vector<double> values, double p) {
  if (!(p >= 0 && p <= 1))
    raise(Errc::invalid_argument, "no {}-quantile: 0 to 1", p);
  check(values);
  // Two neighbours are enough: sorting millions takes many times as long.
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, at);
  if (below + 1 >= values.size())
    return *at;
  const double above = *std::min_element(at + 1, values.end());
  return *at + (position - static_cast<double>(below)) * (above - *at);
}

double median_in_place(std::vector<double>& values) {
  sort(values);
  return quantile_of_sorted(values, 0.5);
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

std::optional<double> Summary::range_percent() const {
  if (count < 2 || median == 0)
    return std::nullopt;
  return 100 * (max - min) / median;
}

double geometric_mean(const std::vector<double>& values) {
  double log_sum = 0;
  for (double value : values)
    log_sum += std::log(value);
  return std::exp(log_sum / static_cast<double>(values.size()));
}

Summary summarise(const std::vector<double>& values) {
  std::vector<double> ordered = sorted(values);
  Summary summary{.count = ordered.size(),
                  .median = quantile_of_sorted(ordered, 0.5),
                  .min = ordered.front(),
                  .max = ordered.back(),
                  .interquartile_range = {},
                  .median_absolute_deviation = {}};
  if (ordered.size() < 2)
    return summary;
  summary.interquartile_range =
      quantile_of_sorted(ordered, 0.75) - quantile_of_sorted(ordered, 0.25);
  for (double& value : ordered)
    value = std::abs(value - summary.median);
  summary.median_absolute_deviation = median(std::move(ordered));
  return summary;
}

} // namespace ncclprobe::analysis
