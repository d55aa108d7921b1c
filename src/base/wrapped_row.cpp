// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/wrapped_row.h"

#include "base/printable.h"
#include "base/text_layout.h"

namespace ncclprobe::base {

void add_wrapped_row(TextTable& table, std::vector<std::string> cells,
                     const std::vector<int>& widths) {
  constexpr int k_indent = 2; // before continued lines
  std::vector<std::vector<std::string>> below;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    int width = column < widths.size() ? widths[column] : 0;
    cells[column] = printable(cells[column]);
    if (width == 0 || cells[column].size() <= static_cast<std::size_t>(width))
      continue;
    auto lines = wrap(cells[column], width - k_indent);
    cells[column] = lines.front();
    for (std::size_t i = 1; i < lines.size(); ++i) {
      if (below.size() < i)
        below.emplace_back(cells.size());
      below[i - 1][column] = std::string(k_indent, ' ').append(lines[i]);
    }
  }
  table.add_row(std::move(cells));
  for (auto& row : below)
    table.add_row(std::move(row));
}

} // namespace ncclprobe::base
