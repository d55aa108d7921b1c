// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ncclprobe::analysis::cost_model {

// Times as a sum of features, each with a factor that is not below zero. Relative errors count: the
// weights are 1/t^2, so that 10% of a small message is as bad as 10% of a large one.
struct Fit {
  std::vector<double> factors;
  // Student's, at k_confidence. Absent for a factor that would have been below zero and was set to
  // it, and where there are no more points than factors.
  std::vector<std::optional<Interval>> intervals;
  std::vector<double> residuals;            // t / fit - 1, by point
  std::optional<double> relative_deviation; // root mean square of them, by degree of freedom
  std::size_t degrees_of_freedom = 0;
  // Of the factors, a square matrix; absent as the intervals are.
  std::vector<double> covariance;

  double at(const std::vector<double>& features) const;
  // Where one further measurement would lie. Nothing without degrees of freedom.
  std::optional<Interval> interval_at(const std::vector<double>& features) const;
};

// Nothing for fewer points than features, features that depend on each other, or a time that is
// not above zero.
std::optional<Fit> fit_times(const std::vector<std::vector<double>>& features,
                             const std::vector<double>& times_ns);

} // namespace ncclprobe::analysis::cost_model
