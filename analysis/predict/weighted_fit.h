// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ncclprobe::analysis::cost_model {

// Fits times as a sum of features with non-negative factors. Relative errors count: the weights are
// 1/t^2, so an error of 10% counts equally for small and large messages.
struct Fit {
  std::vector<double> factors;
  // Student's, at k_confidence. Absent for a factor that was set to zero because it would have been
  // negative, and if there are no more points than factors.
  std::vector<std::optional<Interval>> intervals;
  std::vector<double> residuals;            // t / fit - 1, by point
  std::optional<double> relative_deviation; // root mean square of them, by degree of freedom
  std::size_t degrees_of_freedom = 0;
  // Of the factors, a square matrix; absent as the intervals are.
  std::vector<double> covariance;

  double at(const std::vector<double>& features) const;
  // The interval of one further measurement. Nothing without degrees of freedom.
  std::optional<Interval> interval_at(const std::vector<double>& features) const;
};

// Nothing for fewer points than features, linearly dependent features, or a time that is not above
// zero.
std::optional<Fit> fit_times(const std::vector<std::vector<double>>& features,
                             const std::vector<double>& times_ns);

} // namespace ncclprobe::analysis::cost_model
