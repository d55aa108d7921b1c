// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/text_table.h"

#include "base/printable.h"

#include <algorithm>
#include <stdexcept>

namespace ncclprobe::base {
namespace {

// Columns on a terminal, counting UTF-8 code points (the tables contain no wide characters).
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

} // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size())
    throw std::logic_error("TextTable: more cells than columns");
  cells.resize(columns_.size());
  for (std::string& cell : cells)
    cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::string> TextTable::leave_out_columns_of(std::string_view cell) {
  std::vector<std::string> left_out;
  for (std::size_t c = 0; c < columns_.size() && !rows_.empty();) {
    bool nothing_else = std::ranges::all_of(rows_, [&](const auto& row) { return row[c] == cell; });
    if (!nothing_else) {
      ++c;
      continue;
    }
    auto at = static_cast<std::ptrdiff_t>(c);
    left_out.push_back(std::move(columns_[c].title));
    columns_.erase(columns_.begin() + at);
    for (auto& row : rows_)
      row.erase(row.begin() + at);
  }
  return left_out;
}

std::size_t TextTable::width_of(std::size_t column) const {
  std::size_t width = display_width(columns_[column].title);
  for (const auto& row : rows_)
    width = std::max(width, display_width(row[column]));
  return width;
}

std::string TextTable::render(int indent) const {
  return render_part(indent, 1, columns_.size());
}

std::string TextTable::render_within(int columns) const {
  std::string out;
  for (std::size_t begin = 1, end = 1; begin < columns_.size(); begin = end) {
    std::size_t width = width_of(0) + 2 + width_of(end++);
    while (end < columns_.size() && width + 2 + width_of(end) <= static_cast<std::size_t>(columns))
      width += 2 + width_of(end++);
    out += (out.empty() ? "" : "\n") + render_part(0, begin, end);
  }
  return out;
}

std::string TextTable::render_part(int indent, std::size_t begin, std::size_t end) const {
  std::vector<std::size_t> shown, widths;
  for (std::size_t c = 0; c < end; c = c == 0 ? begin : c + 1) {
    shown.push_back(c);
    widths.push_back(width_of(c));
  }
  std::string out;
  auto add_line = [&](auto&& cell_at) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::string& cell = cell_at(shown[i]);
      std::string pad(widths[i] - display_width(cell), ' ');
      if (i > 0)
        line += "  ";
      line += columns_[shown[i]].align == Align::right ? pad + cell : cell + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_)
    add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

} // namespace ncclprobe::base
