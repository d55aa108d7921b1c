// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_words.h"

#include <fmt/format.h>

#include <cmath>

namespace ncclprobe::analysis {

TimeUnit unit_for(double largest_ns) {
  constexpr double k_most = 1e4;
  if (largest_ns < k_most * 1e3)
    return {1e3, "us"};
  return largest_ns < k_most * 1e6 ? TimeUnit{1e6, "ms"} : TimeUnit{1e9, "s"};
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0)
      out += ',';
    out += digits[at];
  }
  return out;
}

std::string in_unit(double ns, const TimeUnit& unit) {
  const double value = ns / unit.ns;
  if (std::abs(value) < 0.005)
    return "0.00"; // and no "-0.00"
  return fmt::format("{:.{}f}", value, std::abs(value) < 10 ? 2 : 1);
}

std::string us(double ns) {
  return in_unit(ns, {});
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-";
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "none to join"
                    : fmt::format("{} ({} of {})",
                                  percent(static_cast<double>(part), static_cast<double>(whole)),
                                  grouped(part), grouped(whole));
}

std::string range(const std::optional<Interval>& interval, const TimeUnit& unit) {
  return interval
             ? fmt::format("[{}, {}]", in_unit(interval->low, unit), in_unit(interval->high, unit))
             : "-";
}

std::string range_us(const std::optional<Interval>& interval) {
  return range(interval, {});
}

std::string within_error(const timeline::Aligned& time, const TimeUnit& unit) {
  return time.is_shown() ? in_unit(time.value_ns, unit) : "<2x +-";
}

} // namespace ncclprobe::analysis
