// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/column.h"
#include "base/enum_names.h"

#include <cstdint>
#include <string>

// The tables of a trace: one row type for each, the same in the worker, in its spool
// (spool_writer.h) and, column by column, in the trace file (store/trace_file.h). A change to any
// of them changes k_rows_version.
//
// Unless stated otherwise, times are nanoseconds of the host's CLOCK_MONOTONIC_RAW
// (base::monotonic_ns()), or of a synthetic backend's model time. Durations have 32 bits; a longer
// one (4.29 s) is k_long_duration, and LongRow has its length. Texts are numbered in the order of
// their blocks in the spool, from 1; 0 is the empty text.
namespace ncclprobe::trace {

inline constexpr std::uint32_t k_rows_version = 5;
inline constexpr std::uint32_t k_long_duration = UINT32_MAX;

constexpr std::uint32_t short_duration(std::uint64_t duration_ns) {
  return duration_ns < k_long_duration ? static_cast<std::uint32_t>(duration_ns) : k_long_duration;
}

// Number of a text of the spool, from 0 = "".
struct TextId {
  std::uint32_t id = 0;
  bool operator==(const TextId&) const = default;
};

// A row with a start time, which has one of three names.
template <typename Row>
concept Timed = requires(Row row) {
  row.start_ns;
}
|| requires(Row row) {
  row.at_ns;
}
|| requires(Row row) {
  row.enqueue_ns;
};

// Identifies a table in a spool. Numbers are never reused, and have no gaps.
enum class Table : std::uint16_t {
  strings = 0,
  span = 1,
  operation = 2,
  kernel = 3,
  copy = 4,
  api = 5,
  synchronization = 6,
  device_event = 7,
  overhead = 8,
  environment = 9,
  nccl_operation = 10,
  nccl_channel = 11,
  nccl_step = 12,
  nccl_network = 13,
  communicator = 14,
  loss = 15,
  long_duration = 16,
  clock = 17,
  stream = 18,
  provenance = 19,
  nccl_open = 20,
  kernel_window = 21,
  range = 22,
};

using base::enum_names; // found by argument-dependent lookup

// Its group in a trace file.
inline std::string name_of(Table table) {
  return std::string(base::to_string(table));
}

} // namespace ncclprobe::trace
