// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"

#include "nvidia/cuda_gpu.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// The relation between a GPU's %globaltimer and CLOCK_MONOTONIC_RAW. NCCL's channels use the first
// clock, everything else uses the second.
namespace ncclprobe::nvidia {

// The GPU read its time between two readings of the host's clock.
struct ClockBracket {
  std::int64_t before_ns = 0;
  std::uint64_t gpu_ns = 0;
  std::int64_t after_ns = 0;
};

// One reading from many brackets: each bounds the offset, and all bounds hold. The timer advances
// in steps of `step_ns`. Absent if there are no brackets, or if they contradict each other, for
// example because the clock was set in between.
std::optional<trace::ClockRow> clock_reading(std::span<const ClockBracket> brackets,
                                             std::uint64_t step_ns);

// Reads the clocks of GPUs. A GPU thread answers the host through memory that both access, which is
// faster than one kernel launch per answer. Streams must be idle.
class GpuClocks {
public:
  // Adds a GPU and reads its clock for the first time.
  void add(const std::shared_ptr<CudaGpu>& gpu);

  struct Reading {
    int gpu = 0;
    trace::ClockRow row;
  };
  // Readings made by add() first, then all GPUs that still exist.
  std::vector<Reading> read_all();

private:
  static std::optional<Reading> read(const CudaGpu& gpu);

  std::vector<Reading> first_readings_;
  std::vector<std::weak_ptr<CudaGpu>> gpus_;
};

} // namespace ncclprobe::nvidia
