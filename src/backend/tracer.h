// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_writer.h"

#include "model/trial.h"

#include <cstdint>
#include <map>

namespace ncclprobe::backend {

// What is to be traced, and into what.
struct TraceRequest {
  model::TraceLevel level = model::TraceLevel::kernels;
  trace::SpoolWriter* spool = nullptr; // outlives the tracer
  std::map<int, int> rank_of_device;   // of this process's devices
};

// Writes what the devices do to a spool: stream, kernel and copy rows and more, the loss ledger at
// the end. Dies before its backend.
class Tracer {
public:
  virtual ~Tracer() = default;
  // What this thread, always the same, asks the devices for in between belongs to this
  // trace::OperationRow::id; the time is by the backend's clock. Cost is on the path that is
  // measured: nothing but a few instructions may be here.
  virtual void begin_operation(std::uint32_t id, std::uint64_t now_ns) = 0;
  virtual void end_operation(std::uint64_t now_ns) = 0;
  // Between cells, all streams are idle: what is complete may be written now.
  virtual void flush() = 0;
  // All streams are idle and nothing more comes: everything is written, the ledger last.
  virtual void finish() = 0;
  // What is not traced though it was asked for, and why; empty if nothing is missing.
  virtual std::string missing() const { return ""; }
};

} // namespace ncclprobe::backend
