// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/timeline/aligned.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// Numbers as the timeline's sections write them.
namespace ncclprobe::analysis {

inline constexpr std::size_t k_most_rows = 10;       // of ranks or kernels, the worst
inline constexpr std::size_t k_most_cells = 3;       // with a table each
inline constexpr std::size_t k_most_table_rows = 32; // of one table

// That of a whole table.
struct TimeUnit {
  double ns = 1e3;
  const char* name = "us";
};
// In which the largest time of a table has no more than four digits before the point.
TimeUnit unit_for(double largest_ns);

std::string grouped(std::uint64_t number);                  // 12,000
std::string in_unit(double ns, const TimeUnit& unit);       // two decimals below 10, else one
std::string us(double ns);                                  // the same in us
std::string percent(double part, double whole);             // "-" of nothing
std::string share(std::uint64_t part, std::uint64_t whole); // "50.0% (1 of 2)"
std::string range(const std::optional<Interval>& interval, const TimeUnit& unit); // "-" without
std::string range_us(const std::optional<Interval>& interval);

// A time beside a column of its errors: "<2x +-" where it is not shown.
std::string within_error(const timeline::Aligned& time, const TimeUnit& unit);

} // namespace ncclprobe::analysis
