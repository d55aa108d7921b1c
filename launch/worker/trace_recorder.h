// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "backend/backend.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::worker {

// An operation of a schedule, as the trace identifies it.
struct OperationNote {
  trace::OperationKind kind = trace::OperationKind::other;
  std::uint16_t index = 0;
  std::uint16_t stream = 0;
};
OperationNote note_of(const model::Operation& operation, int index);

// Records the runner's activity, and makes the backend record the devices' activity. Does nothing
// if tracing is off.
class TraceRecorder {
public:
  TraceRecorder() = default; // off
  // Opens the spool and starts the backend's tracer, before any device is opened. Throws
  // Errc::unavailable if the spool cannot be created, Errc::unsupported if the backend has no
  // tracer.
  TraceRecorder(backend::Backend& backend, model::TraceLevel level, const std::string& spool,
                std::map<int, int> rank_of_device);
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  bool on() const { return tracer_ != nullptr; }

  // A part of the trial, from here to the end of the block.
  class Span {
  public:
    Span(TraceRecorder& recorder, trace::SpanKind kind, std::uint32_t iterations = 0);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

  private:
    TraceRecorder& recorder_;
    trace::SpanRow row_;
  };

  // Later work belongs to that cell, sample and launch of the timed region; -1: to none.
  void enter_cell(int cell) { cell_ = cell; }
  void enter_batch(int batch) { batch_ = batch; }
  void enter_iteration(int iteration) { iteration_ = static_cast<std::uint32_t>(iteration); }

  // Around each operation that the host enqueues.
  void begin_operation(const OperationNote& note) {
    if (on() && !paused_)
      begin(note);
  }
  void end_operation() {
    if (on() && !paused_)
      end();
  }
  // Captured work is not executed.
  void pause(bool paused) { paused_ = paused; }

  void end_cell(); // all streams are idle
  void finish();   // all streams are idle, and no more work comes
  // For all its ranks (trace::FactRow).
  void note(std::string_view name, std::string_view value);

private:
  void begin(const OperationNote& note);
  void end();
  void write();
  std::uint64_t now_ns() const { return static_cast<std::uint64_t>(backend_->now_ns()); }

  backend::Backend* backend_ = nullptr;
  std::vector<int> ranks_;
  trace::SpoolWriter spool_;
  std::unique_ptr<backend::Tracer> tracer_;
  bool paused_ = false;
  int cell_ = -1;
  int batch_ = -1;
  std::uint32_t iteration_ = 0;
  std::uint32_t last_id_ = 0;
  std::vector<trace::OperationRow> operations_;
  std::vector<trace::SpanRow> spans_;
};

} // namespace ncclprobe::worker
