// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "backend/tracer.h"

#include <mutex>
#include <string_view>
#include <vector>

namespace ncclprobe::backend {

// The tracer of backends that run their streams themselves and therefore know when each task begins
// and ends. Tasks are written as kernels. Rows are lost only if the disk fails.
class TaskTracer : public Tracer {
public:
  explicit TaskTracer(TraceRequest request) : request_(std::move(request)) {}

  void begin_operation(std::uint32_t id, std::uint64_t) override { operation_ = id; }
  void end_operation(std::uint64_t) override { operation_ = 0; }
  void flush() override;
  void finish() override;

  // --- for the backend ---

  std::uint16_t add_stream(int device, std::string_view name, int priority);
  // The operation that is being enqueued; called by the thread that drives the backend.
  std::uint32_t operation() const { return operation_; }
  void count_launch() { ++launched_; }
  // Called by any thread.
  void add(std::uint16_t stream, std::string_view name, std::uint32_t operation,
           std::int64_t start_ns, std::int64_t end_ns, std::uint8_t flags);

private:
  void write();

  TraceRequest request_;
  std::uint32_t operation_ = 0;
  std::uint64_t launched_ = 0;
  std::mutex mutex_;
  std::vector<int> rank_of_stream_;
  struct Task {
    int rank;
    trace::KernelRow row;
    std::uint64_t duration_ns;
  };
  std::vector<Task> tasks_;
  std::uint64_t executed_ = 0;
};

} // namespace ncclprobe::backend
