// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_words.h"

#include "analysis/report/label_words.h"

#include <fmt/format.h>

#include <cmath>

namespace ncclprobe::analysis {

TimeUnit unit_for(double largest_ns) {
  constexpr double k_most = 1e4;
  if (largest_ns < k_most * 1e3)
    return {1e3, "us"};
  return largest_ns < k_most * 1e6 ? TimeUnit{1e6, "ms"} : TimeUnit{1e9, "s"};
}

TimeUnit short_unit_for(double largest_ns) {
  return unit_for(10 * largest_ns);
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

Value ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? Value(static_cast<double>(part) / static_cast<double>(whole)) : Value();
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "none"
                    : fmt::format("{:.1f}% ({} of {})",
                                  100 * static_cast<double>(part) / static_cast<double>(whole),
                                  grouped(part), grouped(whole));
}

std::string range(const std::optional<Interval>& interval, const TimeUnit& unit) {
  return interval
             ? fmt::format("[{}, {}]", in_unit(interval->low, unit), in_unit(interval->high, unit))
             : "-";
}

std::string within_error(const timeline::Aligned& time, const TimeUnit& unit) {
  return time.is_shown() ? in_unit(time.value_ns, unit) : "<2x +-";
}

std::string text_of(const timeline::Timeline& timeline, std::uint32_t id) {
  return id < timeline.texts.size() ? timeline.texts[id] : "";
}

Value cell_value(int cell) {
  return cell < 0 ? Value() : Value(cell);
}

Value name_of(int cell, const TimelineHeading& heading) {
  const auto name = heading.cells.find(cell);
  return name == heading.cells.end() ? Value() : Value(name->second);
}

void add_more_cells(Section& section, std::size_t shown, std::size_t all) {
  if (shown < all)
    section.blocks.push_back(
        Text{"", fmt::format("{} of {} cells; --format json has all.", shown, all), 2});
}

} // namespace ncclprobe::analysis
