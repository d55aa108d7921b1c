// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::base {

// A plain-text table: columns as wide as their widest cell, two spaces between them.
class TextTable {
public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty; more cells than columns is a bug in the caller (throws
  // std::logic_error). Cells are made printable, because their content comes from anywhere.
  void add_row(std::vector<std::string> cells);
  // Removes the columns that only contain this cell; returns their titles.
  std::vector<std::string> leave_out_columns_of(std::string_view cell);
  // Every line starts with `indent` spaces, has no trailing blanks, and ends with a newline.
  std::string render(int indent = 0) const;
  // The same in blocks, one below the other, of lines of at most `columns` if one cell fits. Each
  // has the first column and as many others as fit.
  std::string render_within(int columns) const;

private:
  std::size_t width_of(std::size_t column) const;
  // Of the columns from `begin` to `end`, after the first.
  std::string render_part(int indent, std::size_t begin, std::size_t end) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace ncclprobe::base
