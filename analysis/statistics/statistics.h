// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

// Order statistics of small samples. Nothing here assumes a distribution. Values that need a larger
// sample are absent, never zero.
namespace ncclprobe::analysis {

// The p-quantile, 0 <= p <= 1, by linear interpolation between order statistics: position p (n - 1)
// of the sorted values counted from 0. This is Hyndman and Fan's type 7, the default of NumPy and
// R. Throws Exception (invalid_argument) for no values, NaN or p out of range.
double quantile(std::vector<double> values, double p);

// quantile(values, 0.5): the middle value, or the mean of the two middle ones.
double median(std::vector<double> values);
// The same; also sorts the values.
double median_in_place(std::vector<double>& values);

// Of values above zero; at least one.
double geometric_mean(const std::vector<double>& values);

struct Summary {
  std::size_t count = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  // Absent for a single value: it has no spread.
  std::optional<double> interquartile_range;       // quantile(0.75) - quantile(0.25)
  std::optional<double> median_absolute_deviation; // median of |value - median|, unscaled

  // (max - min) / median in percent; absent for a single value or a median of 0.
  std::optional<double> range_percent() const;
};

// Throws as quantile() does.
Summary summarise(const std::vector<double>& values);

} // namespace ncclprobe::analysis
