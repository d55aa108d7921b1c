// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/document.h"

#include <string>
#include <vector>

// Times that depend on two clocks, with their possible error.
namespace ncclprobe::analysis::timeline {

// A time on another clock, or a difference of such times: the true value is within value +- error.
struct Aligned {
  double value_ns = 0;
  double error_ns = 0;
  // A difference below twice its error counts as none.
  bool is_shown() const;
};
// For documents: a time that is not shown is written too.
void write_as(base::Writer& out, const Aligned& time);
// "3.1 +- 0.8 us", "3.1 us" without error, "not shown (below 2 x 0.8 us)".
std::string format_us(const Aligned& time);

// The p-quantile of values (analysis::quantile), and its largest error if each value is off by at
// most its own. As many values as errors, at least one.
Aligned quantile_of(const std::vector<double>& values_ns, const std::vector<double>& errors_ns,
                    double p);

} // namespace ncclprobe::analysis::timeline
