// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/report_writers.h"
#include "base/printable.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace ncclprobe::analysis {
namespace {

std::vector<const Column*> chosen_columns(const View& view) {
  std::vector<const Column*> chosen;
  if (view.columns.empty()) {
    for (const Column& column : view.table->columns)
      if (!column.title.empty())
        chosen.push_back(&column);
    return chosen;
  }
  for (const std::string& name : view.columns) {
    const auto& all = view.table->columns;
    auto found = std::ranges::find(all, name, &Column::title);
    if (found == all.end())
      found = std::ranges::find(all, name, &Column::key);
    if (found == all.end())
      throw std::logic_error("report: a view names no column of its table: " + name);
    chosen.push_back(&*found);
  }
  return chosen;
}

} // namespace

ShownTable shown_table(const View& view) {
  std::vector<std::size_t> rows = view.rows.value_or(std::vector<std::size_t>());
  if (!view.rows) {
    rows.resize(view.table->rows);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
  }
  ShownTable shown_part;
  if (rows.size() > view.most_rows) {
    shown_part.more_rows = rows.size() - view.most_rows;
    rows.resize(view.most_rows);
  }
  shown_part.cells.resize(rows.size());
  for (const Column* column : chosen_columns(view)) {
    std::vector<std::string> cells;
    bool any = false;
    for (std::size_t row : rows) {
      const Value value = column->value(row);
      any = any || !value.is_null();
      cells.push_back(base::printable(shown(value, column->format)));
    }
    if (column->if_any && !any)
      continue;
    shown_part.columns.push_back(column);
    for (std::size_t i = 0; i < rows.size(); ++i)
      shown_part.cells[i].push_back(std::move(cells[i]));
  }
  return shown_part;
}

} // namespace ncclprobe::analysis
