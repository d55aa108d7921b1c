// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// Times that rest on two clocks, with what these may be wrong by.
namespace ncclprobe::analysis::timeline {

// Of a time on another clock or a difference of such: the true one is within value +- error.
struct Aligned {
  double value_ns = 0;
  double error_ns = 0;
  // A difference that is not twice its error is not told from none.
  bool is_shown() const;
};
// "3.1 +- 0.8 us", "3.1 us" without error, "not shown (below 2 x 0.8 us)".
std::string format_us(const Aligned& time);

// The p-quantile of values (analysis::quantile), and how far it is off at most if each is by no
// more than its error. Of as many values as errors, at least one.
Aligned quantile_of(const std::vector<double>& values_ns, const std::vector<double>& errors_ns,
                    double p);

} // namespace ncclprobe::analysis::timeline
