// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/column.h"

#include <cstdint>

// What a trace consists of: one row type for each table, the same in the worker, in its spool
// (spool_writer.h) and, column by column, in the trace file (store/trace_file.h). A change of any
// of them changes k_rows_version.
//
// Times are nanoseconds of CLOCK_MONOTONIC_RAW of the host (base::monotonic_ns()), if nothing else
// is said; of a synthetic backend, of its model time. Durations are 32 bits; a longer one (4.29 s)
// is k_long_duration, and its length stands in LongRow. Texts are numbered in the order of their
// blocks in the spool, from 1; 0 is the empty text.
namespace ncclprobe::trace {

inline constexpr std::uint32_t k_rows_version = 1;
inline constexpr std::uint32_t k_long_duration = UINT32_MAX;

constexpr std::uint32_t short_duration(std::uint64_t duration_ns) {
  return duration_ns < k_long_duration ? static_cast<std::uint32_t>(duration_ns) : k_long_duration;
}

// Number of a text of the spool, from 0 = "".
struct TextId {
  std::uint32_t id = 0;
  bool operator==(const TextId&) const = default;
};

// Names a table in a spool. Numbers are never used again for something else.
enum class Table : std::uint16_t {
  text = 0,
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
};

// Its group in a trace file.
constexpr const char* name_of(Table table) {
  switch (table) {
  case Table::text:
    return "strings";
  case Table::span:
    return "span";
  case Table::operation:
    return "operation";
  case Table::kernel:
    return "kernel";
  case Table::copy:
    return "copy";
  case Table::api:
    return "api";
  case Table::synchronization:
    return "synchronization";
  case Table::device_event:
    return "device_event";
  case Table::overhead:
    return "overhead";
  case Table::environment:
    return "environment";
  case Table::nccl_operation:
    return "nccl_operation";
  case Table::nccl_channel:
    return "nccl_channel";
  case Table::nccl_step:
    return "nccl_step";
  case Table::nccl_network:
    return "nccl_network";
  case Table::communicator:
    return "communicator";
  case Table::loss:
    return "loss";
  case Table::long_duration:
    return "long_duration";
  case Table::clock:
    return "clock";
  case Table::stream:
    return "stream";
  }
  return "unknown";
}

} // namespace ncclprobe::trace
