// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_words.h"

#include <fmt/format.h>

#include <cmath>

namespace ncclprobe::analysis {

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

std::string us(double ns) {
  return fmt::format("{:.{}f}", ns / 1e3, std::abs(ns) < 10'000 ? 2 : 1);
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

std::string range_us(const std::optional<Interval>& interval) {
  return interval ? fmt::format("[{}, {}]", us(interval->low), us(interval->high)) : "-";
}

} // namespace ncclprobe::analysis
