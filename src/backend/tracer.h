// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_writer.h"

#include "model/trial.h"

#include <cstdint>
#include <map>

namespace ncclprobe::backend {

// What to trace, and where to write it.
struct TraceRequest {
  model::TraceLevel level = model::TraceLevel::kernels;
  trace::SpoolWriter* spool = nullptr; // must outlive the tracer
  std::map<int, int> rank_of_device;   // devices of this process
};

// Writes the devices' activity to a spool: stream, kernel, copy and other rows, with the loss
// ledger at the end. It must be destroyed before its backend.
class Tracer {
public:
  virtual ~Tracer() = default;
  // Work that this thread requests between begin and end belongs to this trace::OperationRow::id.
  // The time is the backend's clock. This code is on the measured path and may cost only a few
  // instructions. All calls come from one thread.
  virtual void begin_operation(std::uint32_t id, std::uint64_t now_ns) = 0;
  virtual void end_operation(std::uint64_t now_ns) = 0;
  // Called between cells, when all streams are idle: complete rows may be written now.
  virtual void flush() = 0;
  // Called when all streams are idle and no more work comes: writes everything, the ledger last.
  virtual void finish() = 0;
  // Requested data that is not traced, and why; empty if nothing is missing.
  virtual std::string missing() const { return ""; }
};

} // namespace ncclprobe::backend
