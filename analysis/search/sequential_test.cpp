// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/sequential_test.h"

#include <cmath>

namespace ncclprobe::analysis::search {

double sequence_half_width(int count, double variance, double alpha) {
  // The mixture's width, in variances of a value: the sequence is narrowest near four values.
  constexpr double k_width = 0.25;
  const double widened = count + k_width;
  return std::sqrt(variance * widened * std::log(widened / (k_width * alpha * alpha))) / count;
}

} // namespace ncclprobe::analysis::search
