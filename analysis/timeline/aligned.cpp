// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/aligned.h"

#include "analysis/statistics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::timeline {
namespace {

// Enough digits for the error: two if it is below 1.
int decimals_for(double us) {
  if (us >= 10)
    return 0;
  return us >= 0.1 || us == 0 ? 1 : 2;
}

} // namespace

bool Aligned::is_shown() const {
  return std::abs(value_ns) >= 2 * error_ns;
}

void write_as(base::Writer& out, const Aligned& time) {
  out.object();
  out.key("value_ns");
  out.real(time.value_ns);
  out.key("error_ns");
  out.real(time.error_ns);
  out.key("shown");
  out.boolean(time.is_shown());
  out.end();
}

std::string format_us(const Aligned& time) {
  double error_us = time.error_ns / 1e3;
  int decimals = decimals_for(error_us);
  if (!time.is_shown())
    return fmt::format("not shown (below 2 x {:.{}f} us)", error_us, decimals);
  if (time.error_ns == 0)
    return fmt::format("{:.{}f} us", time.value_ns / 1e3, decimals);
  return fmt::format("{:.{}f} +- {:.{}f} us", time.value_ns / 1e3, decimals, error_us, decimals);
}

Aligned quantile_of(const std::vector<double>& values_ns, const std::vector<double>& errors_ns,
                    double p) {
  std::vector<double> low = values_ns, high = values_ns;
  for (std::size_t i = 0; i < errors_ns.size(); ++i) {
    low[i] -= errors_ns[i];
    high[i] += errors_ns[i];
  }
  const double value_ns = quantile(values_ns, p);
  return {value_ns, std::max(value_ns - quantile(std::move(low), p),
                             quantile(std::move(high), p) - value_ns)};
}

} // namespace ncclprobe::analysis::timeline
