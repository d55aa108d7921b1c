// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "base/fields.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// The trace file, version 1.1: all ranks of one traced trial in one HDF5 file, column by column.
// Its parts, which hold the ranks of one worker, have the same format.
//
//   /                   attributes schema = "ncclprobe.trace", schema_version = [major, minor],
//                       trial (number in the run; -1: no run), run_id, level ("kernels", "api",
//                       "full"), complete = 1, written last
//   /rank_00003         attributes rank, host, boot_id (equal: the same clock), process, opened_ns
//                       and opened_realtime_ns (the same moment on both clocks), bytes_left_out
//                       (of a block that a killed process did not finish; 0 in a complete trace)
//   /rank_00003/<table> one group per row type in trace/ (name_of(Table)) that has rows; one 1-D
//                       dataset per column, whose attribute "about" says what it means;
//                       attribute n_valid: number of rows. Rows are sorted by start_ns (at_ns,
//                       enqueue_ns) if the table has one; an absent table has no rows.
//   /strings            blob: the bytes of all texts, each once; offset: text i is
//                       blob[offset[i]:offset[i+1]]. Text 0 is empty.
//   /index/rank_00003/<table>
//                       for each chunk of the table's columns, in order: begin_ns of its first
//                       row, last_begin_ns of its last row, end_ns of the row that ends last
//                       (all ones: a length that exceeds 32 bits). Rows that overlap [a, b) are in
//                       chunks with begin_ns < b and end_ns > a.
//
// /rank_00003/provenance lists the programs and devices that produced the rows (pairs of texts),
// and missing data with the reason. Version 1.1 added it, /api/name and the "labels"; our readers
// accept files without them.
//
// Integers are little-endian; enumerations are u8 (a table: u16) with the attribute "labels" (label
// of value v is labels[v]); texts are u32, the row in /strings. A duration_ns of 2^32 - 1 stands
// for a longer one, which is in the rank's long_duration. Chunks have 65,536 rows (fewer in a short
// table), with the filters shuffle, deflate and fletcher32, which every HDF5 has.
//
// With h5py and pandas:
//   f = h5py.File("run.trace/trial-000007.h5")
//   group = f["rank_00003/kernel"]
//   kernels = pandas.DataFrame({name: column[:] for name, column in group.items()})
//   at = f["strings/offset"][:]
//   text = lambda i: f["strings/blob"][at[i]:at[i + 1]].tobytes().decode()
namespace ncclprobe::store {

inline constexpr const char* k_trace_schema_name = "ncclprobe.trace";
inline constexpr int k_trace_schema_major = 1;
inline constexpr int k_trace_schema_minor = 1;
inline constexpr std::uint64_t k_trace_chunk_rows = 65'536; // 64 to 512 KiB a chunk

// Identifies a trace.
struct TraceIdentity {
  int trial = -1;
  std::string run_id;
  std::string level;
  bool operator==(const TraceIdentity&) const = default;
};
NCCLPROBE_FIELDS(TraceIdentity, trial, run_id, level)

// The origin of a rank's rows.
struct TraceOrigin {
  std::string host;
  std::string boot_id;
  std::uint32_t process = 0;
  std::uint64_t opened_ns = 0;
  std::uint64_t opened_realtime_ns = 0;
  std::uint64_t bytes_left_out = 0;
};
NCCLPROBE_FIELDS(TraceOrigin, host, boot_id, process, opened_ns, opened_realtime_ns, bytes_left_out)

// --- what the row types have in common ---

// The sort key of a table's rows.
template <trace::Timed Row>
std::uint64_t begin_ns(const Row& row) {
  if constexpr (requires { row.start_ns; })
    return row.start_ns;
  else if constexpr (requires { row.at_ns; })
    return row.at_ns;
  else
    return row.enqueue_ns;
}

// UINT64_MAX if the length exceeds 32 bits.
template <trace::Timed Row>
std::uint64_t end_ns(const Row& row) {
  std::uint64_t end = 0;
  if constexpr (std::is_same_v<Row, trace::LongRow>)
    end = row.start_ns + row.duration_ns;
  else if constexpr (requires { row.duration_ns; })
    return row.duration_ns == trace::k_long_duration ? UINT64_MAX : row.start_ns + row.duration_ns;
  else if constexpr (requires { row.end_ns; })
    end = row.end_ns;
  else if constexpr (requires { row.stop_ns; })
    end = row.stop_ns;
  else if constexpr (requires { row.enqueued_ns; })
    end = row.enqueued_ns;
  return end > begin_ns(row) ? end : begin_ns(row); // 0: it never ended
}

// Calls visit(column) for each column of the table.
template <typename Row, typename Visit>
void for_each_column(Visit visit) {
  std::apply([&](const auto&... column) { (visit(column), ...); }, columns(Row{}));
}

// Calls visit(text id) for each text of a row.
template <typename Row, typename Visit>
void for_each_text_id(Row& row, Visit visit) {
  for_each_column<Row>([&](const auto& column) {
    if constexpr (std::is_same_v<typename std::decay_t<decltype(column)>::Value, trace::TextId>)
      visit(row.*column.field);
  });
}

// The type of a column's values in the file.
template <typename T>
struct TraceColumnType {
  using Type = T;
};
template <>
struct TraceColumnType<trace::TextId> {
  using Type = std::uint32_t;
};
template <typename T>
requires std::is_enum_v<T>
struct TraceColumnType<T> {
  using Type = std::underlying_type_t<T>;
};
template <typename T>
using TraceValue = typename TraceColumnType<T>::Type;
static_assert(sizeof(trace::TextId) == sizeof(std::uint32_t)); // copied as such

} // namespace ncclprobe::store
