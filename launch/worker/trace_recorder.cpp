// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/trace_recorder.h"

#include "plugin/profiler/tracing.h"

#include <cerrno>
#include <cstring>

namespace ncclprobe::worker {

using namespace model;
using trace::OperationKind;

namespace {

// Allocating memory during a measured cell would cost more than everything else here.
constexpr std::size_t k_operations = 1 << 18;

} // namespace

OperationNote note_of(const Operation& operation, int index) {
  OperationNote note;
  note.index = static_cast<std::uint16_t>(index);
  std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        if constexpr (requires { op.stream; })
          note.stream = static_cast<std::uint16_t>(op.stream);
        if constexpr (std::is_same_v<Op, CollectiveOp>)
          note.kind = OperationKind::collective;
        else if constexpr (std::is_same_v<Op, SendOp>)
          note.kind = OperationKind::send;
        else if constexpr (std::is_same_v<Op, RecvOp>)
          note.kind = OperationKind::receive;
        else if constexpr (std::is_same_v<Op, CopyOp>)
          note.kind = OperationKind::copy;
        else if constexpr (std::is_same_v<Op, ChaseOp>)
          note.kind = OperationKind::chase;
        else if constexpr (std::is_same_v<Op, SpinOp>)
          note.kind = op.is_host ? OperationKind::host : OperationKind::compute;
        else if constexpr (std::is_same_v<Op, GemmOp> || std::is_same_v<Op, ConvertOp> ||
                           std::is_same_v<Op, OptimizerOp>)
          note.kind = OperationKind::compute;
        else if constexpr (std::is_same_v<Op, RecordEventOp> || std::is_same_v<Op, WaitEventOp>)
          note.kind = OperationKind::event;
        else if constexpr (std::is_same_v<Op, MarkerOp>)
          note.kind = OperationKind::marker;
        else if constexpr (std::is_same_v<Op, GroupEndOp>)
          note.kind = OperationKind::group;
      },
      operation.what);
  return note;
}

TraceRecorder::TraceRecorder(backend::Backend& backend, TraceLevel level, const std::string& spool,
                             std::map<int, int> rank_of_device)
    : backend_(&backend) {
  if (!spool_.open(spool, backend.name() == "synthetic" ? trace::k_synthetic_host : ""))
    raise(Errc::unavailable, "cannot make the trace's file {}: {}", spool, std::strerror(errno));
  for (const auto& [device, rank] : rank_of_device)
    ranks_.push_back(rank);
  operations_.reserve(k_operations);
  tracer_ = backend.start_trace({level, &spool_, std::move(rank_of_device)});
  note("backend", backend.name());
  if (std::string missing = tracer_->missing(); !missing.empty())
    note(trace::k_missing, missing);
  if (backend.name() == "nvidia") // NCCL finds the plugin in this program itself
    // Times of channels are work for NCCL's proxy threads: on 2 H200 they alone made 64 KiB take
    // half as long again.
    plugin::start_tracing(spool_, level == TraceLevel::full ? plugin::Detail::steps
                                                            : plugin::Detail::operations);
}

TraceRecorder::Span::Span(TraceRecorder& recorder, trace::SpanKind kind, std::uint32_t iterations)
    : recorder_(recorder) {
  if (!recorder_.on())
    return;
  row_.kind = kind;
  row_.cell = recorder_.cell_;
  row_.batch = recorder_.batch_;
  row_.iterations = iterations;
  row_.start_ns = recorder_.now_ns();
}

TraceRecorder::Span::~Span() {
  if (!recorder_.on())
    return;
  row_.end_ns = recorder_.now_ns();
  recorder_.spans_.push_back(row_);
}

void TraceRecorder::begin(const OperationNote& note) {
  if (operations_.size() == operations_.capacity())
    write();
  trace::OperationRow row;
  row.id = ++last_id_;
  row.cell = cell_;
  row.batch = batch_;
  row.iteration = iteration_;
  row.index = note.index;
  row.stream = note.stream;
  row.kind = note.kind;
  row.start_ns = now_ns();
  operations_.push_back(row);
  plugin::set_operation(row.id);
  tracer_->begin_operation(row.id, row.start_ns);
}

void TraceRecorder::end() {
  std::uint64_t end_ns = now_ns();
  tracer_->end_operation(end_ns);
  plugin::set_operation(0);
  operations_.back().duration_ns = trace::short_duration(end_ns - operations_.back().start_ns);
}

// A process enqueues for all of its ranks.
void TraceRecorder::write() {
  for (int rank : ranks_) {
    spool_.append<trace::OperationRow>(rank, operations_);
    spool_.append<trace::SpanRow>(rank, spans_);
  }
  operations_.clear();
  spans_.clear();
}

void TraceRecorder::note(std::string_view name, std::string_view value) {
  for (int rank : ranks_) // none: it is off
    spool_.note(rank, name, value);
}

void TraceRecorder::end_cell() {
  if (!on())
    return;
  write();
  tracer_->flush();
}

void TraceRecorder::finish() {
  if (!on())
    return;
  write();
  plugin::stop_tracing();
  tracer_->finish();
}

} // namespace ncclprobe::worker
