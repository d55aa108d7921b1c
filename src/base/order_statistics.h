// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>

namespace ncclprobe::base {

// Interval of a median that assumes independence but no distribution. Returns how many of n sorted
// values to drop at each end: as many as the binomial distribution allows while the median is
// between the others with the requested confidence (Le Boudec, Performance Evaluation, theorem 2.1;
// Hoefler and Belli, rule 6). Nothing if there are too few: 95% needs six.
inline std::optional<std::size_t> left_out_of_median_interval(std::size_t n, double confidence) {
  auto all = static_cast<double>(n);
  double tail = 0; // probability that fewer than k + 1 values are below the true median
  std::optional<std::size_t> left_out;
  for (std::size_t k = 0; k < n / 2; ++k) {
    auto chosen = static_cast<double>(k);
    tail += std::exp(std::lgamma(all + 1) - std::lgamma(chosen + 1) -
                     std::lgamma(all - chosen + 1) - all * std::log(2.0));
    if (2 * tail > 1 - confidence)
      break;
    left_out = k;
  }
  return left_out;
}

} // namespace ncclprobe::base
