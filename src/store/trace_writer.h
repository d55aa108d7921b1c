// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/chunk_codec.h"
#include "store/hdf5_attribute.h"
#include "store/stored_value.h"
#include "store/trace_format.h"

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

// Writes a trace file (trace_format.h) to the disk. All functions throw Exception (io,
// failed). HDF5 is unusable in a process in which a write failed, so run it in a child
// (child_jobs.h). Included by store/*.cpp alone.
namespace ncclprobe::store {

struct TraceColumn {
  const char* name;
  const char* about;
  hid_t type;
  std::size_t value_bytes;
  std::vector<std::string> labels = {}; // labels of an enumeration
};

template <typename Row>
std::vector<TraceColumn> trace_columns() {
  std::vector<TraceColumn> all;
  for_each_column<Row>([&](const auto& column) {
    using Value = typename std::decay_t<decltype(column)>::Value;
    using T = TraceValue<Value>;
    all.push_back({column.name, column.about, file_type<T>(), sizeof(T)});
    if constexpr (std::is_enum_v<Value>)
      all.back().labels = labels_of<Value>();
  });
  return all;
}

// Writes one table: all columns, chunk by chunk.
class TraceTableWriter {
public:
  TraceTableWriter(hid_t parent, const std::string& name, std::span<const TraceColumn> columns,
                   std::uint64_t rows, ChunkEncoder& encoder);
  std::uint64_t chunk_rows() const { return chunk_rows_; }
  // Writes chunk_rows() values, from a row that is a multiple of chunk_rows(); fewer at the end of
  // the table.
  void write(std::size_t column, std::uint64_t first_row, const void* values, std::size_t count);
  void close();

private:
  Hdf5Group group_;
  std::vector<TraceColumn> columns_;
  std::vector<Hdf5Dataset> datasets_;
  std::uint64_t rows_;
  std::uint64_t chunk_rows_;
  ChunkEncoder& encoder_;
  std::vector<std::byte> padded_;
};

// The row of /index for one chunk.
struct TraceIndexRow {
  std::uint64_t begin_ns = 0;
  std::uint64_t last_begin_ns = 0;
  std::uint64_t end_ns = 0;
};
template <std::same_as<TraceIndexRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("begin_ns", &R::begin_ns, "start time of the chunk's first row, ns"),
      base::column("last_begin_ns", &R::last_begin_ns, "start time of the chunk's last row, ns"),
      base::column("end_ns", &R::end_ns,
                   "end time of the row that ends last, ns; 2^64 - 1: see long_duration"));
}

class TraceWriter {
public:
  // Writes to `file`, which is complete after finish().
  TraceWriter(const std::filesystem::path& file, const TraceIdentity& identity);

  // The group of a rank, "rank_00003".
  Hdf5Group add_rank(int rank, const TraceOrigin& origin);

  // Writes a table of `rows` rows. drain(count, take) calls take(some rows) for all, `count` at a
  // time.
  template <typename Row, typename Drain>
  void add_table(const Hdf5Group& rank_group, int rank, std::uint64_t rows, Drain drain) {
    auto shape = trace_columns<Row>();
    TraceTableWriter table(rank_group.get(), trace::name_of(Row::k_table), shape, rows, encoder_);
    std::vector<TraceIndexRow> index;
    std::uint64_t first = 0;
    drain(table.chunk_rows(), [&](std::span<const Row> some) {
      write_chunk(table, first, some);
      if constexpr (trace::Timed<Row>)
        index.push_back(index_of(some));
      first += some.size();
    });
    table.close();
    if (!index.empty())
      add_index(rank, trace::name_of(Row::k_table), index);
  }

  hid_t index_group(int rank);
  hid_t file() const { return file_.get(); }
  ChunkEncoder& encoder() { return encoder_; }

  // Writes the texts, then complete = 1.
  void finish(const Strings& strings);

private:
  template <typename Row>
  void write_chunk(TraceTableWriter& table, std::uint64_t first, std::span<const Row> rows) {
    std::size_t number = 0;
    for_each_column<Row>([&](const auto& column) {
      using T = TraceValue<typename std::decay_t<decltype(column)>::Value>;
      values_.resize(table.chunk_rows() * sizeof(std::uint64_t));
      auto* values = reinterpret_cast<T*>(values_.data());
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::memcpy(&values[i], &(rows[i].*column.field), sizeof(T));
      table.write(number++, first, values, rows.size());
    });
  }
  template <typename Row>
  static TraceIndexRow index_of(std::span<const Row> rows) {
    TraceIndexRow one{begin_ns(rows.front()), begin_ns(rows.back()), 0};
    for (const Row& row : rows)
      one.end_ns = std::max(one.end_ns, end_ns(row));
    return one;
  }
  void add_index(int rank, const std::string& table, const std::vector<TraceIndexRow>& index);

  Hdf5File file_;
  Hdf5Group index_;
  std::vector<std::pair<int, Hdf5Group>> rank_indexes_; // only of the latest rank
  ChunkEncoder encoder_;
  std::vector<std::byte> values_;
};

// "rank_00003"
std::string rank_group_name(int rank);

} // namespace ncclprobe::store
