// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/column_reader.h"
#include "store/schema.h"

#include <type_traits>
#include <vector>

// Rows of a table whose columns are read in slices. Included by store/*.cpp alone.
namespace ncclprobe::store {

// What a value's C++ type is while it passes through a file.
template <typename T>
struct StoredAs {
  using Type = T;
};
template <>
struct StoredAs<bool> {
  using Type = std::uint8_t;
};
template <>
struct StoredAs<Text> {
  using Type = std::uint32_t;
};
template <typename T>
requires std::is_enum_v<T>
struct StoredAs<T> {
  using Type = std::uint8_t;
};
template <typename T>
using Stored = typename StoredAs<T>::Type;

// One thread at a time.
template <typename Row>
class RowReader {
public:
  RowReader(int fd, const TableSource& source) : source_(&source) {
    for (const ColumnSource& column : source.columns)
      readers_.emplace_back(fd, column);
  }

  std::uint64_t row_count() const { return source_->rows; }

  // Rows from `first` on, of row_count(). Throws base::Exception.
  std::vector<Row> rows(std::uint64_t first, std::size_t count) {
    std::vector<Row> rows(count);
    std::size_t index = 0;
    std::apply([&](const auto&... column) { (read(column, index++, first, rows), ...); },
               columns(Row{}));
    return rows;
  }

private:
  template <typename T>
  void read(const base::Column<Row, T>& column, std::size_t index, std::uint64_t first,
            std::vector<Row>& rows) {
    static_assert(!std::is_same_v<T, Text>, "a slice has no texts");
    const ColumnSource& source = source_->columns.at(index);
    if (source.absent)
      return; // the file is older than the column, which keeps its default
    std::vector<Stored<T>> values(rows.size());
    readers_[index].read(first, std::span(values));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if constexpr (std::is_enum_v<T>) {
        if (values[i] >= source.numbers.size())
          base::raise(base::Errc::failed, "column {} has unknown value {}", column.name, values[i]);
        rows[i].*column.field = static_cast<T>(source.numbers[values[i]]);
      } else {
        rows[i].*column.field = static_cast<T>(values[i]);
      }
    }
  }

  const TableSource* source_;
  std::vector<ColumnReader> readers_;
};

} // namespace ncclprobe::store
