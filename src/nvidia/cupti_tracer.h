// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/clock_readings.h"

#include <memory>

namespace ncclprobe::nvidia {

// Kernels, copies and more by CUPTI's activity records, and the GPUs' clocks. Where CUPTI cannot be
// had, or belongs to another tool, only the clocks; missing() then says why. Before any CUDA call.
// At most one in a process, as CUPTI has one user.
std::unique_ptr<backend::Tracer> start_tracer(const backend::Options& options,
                                              const backend::TraceRequest& request,
                                              std::shared_ptr<GpuClocks> clocks);

} // namespace ncclprobe::nvidia
