// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/trace_format.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::store {

// Selects rows that overlap [from, until).
struct TraceWindow {
  std::uint64_t from_ns = 0;
  std::uint64_t until_ns = UINT64_MAX;
};

// A trace file (trace_format.h) for reading. HDF5 looks at it once, in a child that a damaged file
// may bring down; from then on the chunks are read and unpacked here, each with its checksum. Any
// number of threads may read at once. Copies share the file.
//
//   auto trace = store::TraceFile::open("run.trace/trial-000007.h5");
//   for (int rank : trace->ranks()) {
//     auto starts = trace->column(rank, &trace::KernelRow::start_ns);   // Result<std::vector<...>>
//     auto rows = trace->rows<trace::KernelRow>(rank, {from_ns, until_ns});
//   }
class TraceFile {
public:
  // Errors: not_found, io, protocol (no trace of ours, damaged, newer schema).
  static Result<TraceFile> open(const std::filesystem::path& path);
  static std::vector<Result<TraceFile>> open_all(const std::vector<std::filesystem::path>& paths);

  const TraceIdentity& identity() const;
  const std::vector<int>& ranks() const; // ascending
  // Of one of ranks(), here and below.
  const TraceOrigin& origin(int rank) const;
  const std::string& text(trace::TextId id) const; // empty if there is none
  const std::vector<std::string>& texts() const;   // all, by TextId::id
  std::uint64_t row_count(int rank, trace::Table table) const;
  // The earliest begin of a row, in all tables that a clock of this host timed; UINT64_MAX: none.
  std::uint64_t first_ns(int rank) const;

  // A whole column; empty if the rank has no such table. Errors: io, protocol (damaged).
  template <typename Row, typename T>
  Result<std::vector<T>> column(int rank, T Row::*field) const {
    std::vector<T> values(row_count(rank, Row::k_table));
    NCCLPROBE_TRY(read_column(rank, Row::k_table, name_of_field(field), whole(values.size()),
                              values.data(), sizeof(T)));
    return values;
  }

  // Rows that overlap the window, ordered by begin. Reads only chunks that may hold some.
  template <typename Row>
  Result<std::vector<Row>> rows(int rank, TraceWindow window = {}) const {
    std::vector<Row> all;
    for (Range range : ranges(rank, Row::k_table, window)) {
      NCCLPROBE_TRY_ASSIGN(std::vector<Row> some, rows_of<Row>(rank, range));
      for (const Row& row : some)
        if (overlaps(rank, row, window))
          all.push_back(row);
    }
    return all;
  }

  // The real length, even if the row does not hold it.
  template <typename Row>
  std::uint64_t duration_ns(int rank, const Row& row) const {
    return row.duration_ns == trace::k_long_duration
               ? long_duration_ns(rank, Row::k_table, row.start_ns)
               : row.duration_ns;
  }

private:
  struct Impl;
  struct Range { // within one chunk, or the whole column
    std::uint64_t first, count;
  };
  static Range whole(std::uint64_t rows) { return {0, rows}; }
  std::vector<Range> ranges(int rank, trace::Table table, const TraceWindow& window) const;
  bool has_column(int rank, trace::Table table, const char* name) const;
  Result<void> read_column(int rank, trace::Table table, const char* name, Range range,
                           void* values, std::size_t value_bytes) const;
  std::uint64_t long_duration_ns(int rank, trace::Table table, std::uint64_t start_ns) const;

  template <typename Row, typename T>
  static const char* name_of_field(T Row::*field) {
    const char* name = "";
    for_each_column<Row>([&](const auto& column) {
      if constexpr (std::is_same_v<typename std::decay_t<decltype(column)>::Value, T>)
        if (column.field == field)
          name = column.name;
    });
    return name;
  }

  template <typename Row>
  Result<std::vector<Row>> rows_of(int rank, Range range) const {
    std::vector<Row> rows(range.count);
    Result<void> result;
    for_each_column<Row>([&](const auto& column) {
      using T = typename std::decay_t<decltype(column)>::Value;
      if (!result || (column.since_minor > 0 && !has_column(rank, Row::k_table, column.name)))
        return; // the file is older than the column, which keeps its default
      std::vector<T> values(range.count);
      result = read_column(rank, Row::k_table, column.name, range, values.data(), sizeof(T));
      for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].*column.field = values[i];
    });
    NCCLPROBE_TRY(std::move(result));
    return rows;
  }

  template <typename Row>
  bool overlaps(int rank, const Row& row, const TraceWindow& window) const {
    if constexpr (!trace::Timed<Row>)
      return true;
    else {
      std::uint64_t end = end_ns(row);
      if constexpr (requires { row.duration_ns; })
        end = row.start_ns + duration_ns(rank, row);
      // A row without a length lies in the window if it begins there.
      return begin_ns(row) < window.until_ns &&
             (end > window.from_ns || begin_ns(row) >= window.from_ns);
    }
  }

  explicit TraceFile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

} // namespace ncclprobe::store
