// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/clock_readings.h"

#include <functional>
#include <memory>

namespace ncclprobe::nvidia {

// Data that a backend and its tracer exchange.
struct TraceLink {
  GpuClocks clocks;
  // Called around a capture, whose calls launch nothing. Empty if unused.
  std::function<void()> capture_begins;
  std::function<void()> capture_ends;
};

// Records kernels, copies and more with CUPTI's activity records, and the GPUs' clocks. If CUPTI is
// missing or belongs to another tool, records only the clocks; missing() then says why. Create it
// before any CUDA call, at most once per process, because CUPTI has one user.
std::unique_ptr<backend::Tracer> start_tracer(const backend::Options& options,
                                              const backend::TraceRequest& request,
                                              const std::shared_ptr<TraceLink>& link);

} // namespace ncclprobe::nvidia
