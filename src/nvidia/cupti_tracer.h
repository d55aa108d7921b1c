// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/clock_readings.h"

#include <functional>
#include <memory>

namespace ncclprobe::nvidia {

// What a backend and its tracer tell each other.
struct TraceLink {
  GpuClocks clocks;
  // Around what is captured: calls that launch nothing. Empty if nobody minds.
  std::function<void()> capture_begins;
  std::function<void()> capture_ends;
};

// Kernels, copies and more by CUPTI's activity records, and the GPUs' clocks. Where CUPTI cannot be
// had, or belongs to another tool, only the clocks; missing() then says why. Before any CUDA call.
// At most one in a process, as CUPTI has one user.
std::unique_ptr<backend::Tracer> start_tracer(const backend::Options& options,
                                              const backend::TraceRequest& request,
                                              const std::shared_ptr<TraceLink>& link);

} // namespace ncclprobe::nvidia
