// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/table.h"

#include <concepts>
#include <cstdint>
#include <tuple>

// The runner's activity on the host.
namespace ncclprobe::trace {

enum class SpanKind : std::uint8_t { cell, warm_up, batch, check, meeting };
// /span: parts of a trial on the host
struct SpanRow {
  static constexpr Table k_table = Table::span;
  std::uint64_t start_ns = 0, end_ns = 0;
  std::int32_t cell = -1;  // index in the trial
  std::int32_t batch = -1; // sample of the cell, from 0; -1: outside the timed part
  std::uint32_t iterations = 0;
  SpanKind kind = SpanKind::cell;
};
template <std::same_as<SpanRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "start time on the host, ns"),
      base::column("end_ns", &R::end_ns, "end time on the host, ns"),
      base::column("cell", &R::cell, "index of the cell in the trial; -1: outside cells"),
      base::column("batch", &R::batch,
                   "timed batch of the cell, from 0; -1: outside the timed part"),
      base::column("iterations", &R::iterations, "number of launches of the timed region in it"),
      base::column("kind", &R::kind, "kind of activity"));
}

enum class OperationKind : std::uint8_t {
  collective,
  send,
  receive,
  copy,
  compute,
  event,
  marker,
  graph,
  chase,
  group,
  other,
  host // a kernel that stands for a job's host
};
// /operation: one operation of the schedule as the host enqueued it
struct OperationRow {
  static constexpr Table k_table = Table::operation;
  std::uint64_t start_ns = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t id = 0; // from 1, counted by each process; kernels and other rows refer to it
  std::int32_t cell = -1;
  std::int32_t batch = -1;
  std::uint32_t iteration = 0; // of the timed region in the batch
  std::uint16_t index = 0;     // in the schedule's operations
  std::uint16_t stream = 0;    // of the schedule
  OperationKind kind = OperationKind::other;
};
template <std::same_as<OperationRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "when the host began to enqueue it, ns"),
      base::column("duration_ns", &R::duration_ns,
                   "how long the host enqueued it, ns; 4294967295: that long or longer"),
      base::column("id", &R::id, "its number, from 1; other tables refer to it"),
      base::column("cell", &R::cell, "index of the cell in the trial; -1: outside cells"),
      base::column("batch", &R::batch,
                   "timed batch of the cell, from 0; -1: outside the timed part"),
      base::column("iteration", &R::iteration,
                   "launch of the timed region within the batch, from 0"),
      base::column("index", &R::index, "position in the schedule's operations"),
      base::column("stream", &R::stream, "number of the stream in the schedule"),
      base::column("kind", &R::kind,
                   "kind of operation; group: sends and receives of one NCCL group"));
}

} // namespace ncclprobe::trace
