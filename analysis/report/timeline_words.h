// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/timeline_report.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

// Common to the timeline's sections: how numbers are written, and what is left out.
namespace ncclprobe::analysis {

inline constexpr int k_timeline_hang = 10;
inline constexpr std::size_t k_most_rows = 10;       // of ranks or kernels, the worst
inline constexpr std::size_t k_most_cells = 3;       // with a table each
inline constexpr std::size_t k_most_table_rows = 32; // of one table

// That of a whole table.
struct TimeUnit {
  double ns = 1e3;
  const char* name = "us";
};
// The unit in which a table's largest time has at most four digits before the point.
TimeUnit unit_for(double largest_ns);
TimeUnit short_unit_for(double largest_ns); // three digits, for tables of many columns

std::string in_unit(double ns, const TimeUnit& unit); // two decimals below 10, else one
std::string in_unit(std::integral auto ns, const TimeUnit& unit) {
  return in_unit(static_cast<double>(ns), unit);
}
std::string us(double ns);                                  // the same in us
Value ratio(std::int64_t part, std::int64_t whole);         // null if `whole` is 0
std::string share(std::uint64_t part, std::uint64_t whole); // "50.0% (1 of 2)", "none"
std::string range(const std::optional<Interval>& interval, const TimeUnit& unit); // "-" without

// A time beside a column of its errors: "<2x +-" if it is not shown.
std::string within_error(const timeline::Aligned& time, const TimeUnit& unit);
// Columns of the time, which may be absent, and of its errors if there are any.
template <typename Row, typename Get>
void show_aligned(TableOf<Row>& table, const char* title, const TimeUnit& unit, Get get) {
  using Time = std::optional<timeline::Aligned>;
  table.show(title, [=](const Row& row) -> Value {
    const Time time = get(row);
    return time ? Value(within_error(*time, unit)) : Value();
  });
  table
      .show("+-",
            [=](const Row& row) -> Value {
              const Time time = get(row);
              return time && time->error_ns > 0 ? Value(in_unit(time->error_ns, unit)) : Value();
            })
      .if_any();
}

std::string text_of(const timeline::Timeline& timeline, std::uint32_t id);
Value cell_value(int cell);                              // null if the trace has no steps
Value name_of(int cell, const TimelineHeading& heading); // null if it has none
// One object for each cell.
template <typename T, typename ToObject>
List by_cell(const timeline::ByCell<T>& cells, const TimelineHeading& heading, ToObject to_object) {
  List out;
  for (const auto& [cell, one] : cells) {
    Object object{{"cell", cell_value(cell)}, {"name", name_of(cell, heading)}};
    for (auto& field : to_object(one))
      object.push_back(std::move(field));
    out.emplace_back(std::move(object));
  }
  return out;
}

// Indexes of rows, the greatest figure first.
template <typename Rows, typename Figure>
std::vector<std::size_t> greatest_first(const Rows& rows, Figure figure) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t row) { return figure(rows[row]); });
  return order;
}

// The cells to show, the greatest figure first.
template <typename T, typename Figure>
std::vector<std::pair<int, const T*>> most_telling(const timeline::ByCell<T>& all, Figure figure,
                                                   std::size_t most = k_most_cells) {
  std::vector<std::pair<int, const T*>> cells;
  for (const auto& [cell, one] : all)
    cells.emplace_back(cell, &one);
  std::ranges::stable_sort(cells, std::ranges::greater{},
                           [&](const auto& one) { return figure(*one.second); });
  cells.resize(std::min(cells.size(), most));
  return cells;
}
// "3 of 5 cells; --format json has all.", unless all are shown.
void add_more_cells(Section& section, std::size_t shown, std::size_t all);

} // namespace ncclprobe::analysis
