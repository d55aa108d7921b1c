// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"

#include "nvidia/cuda_gpu.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// How a GPU's %globaltimer stands to CLOCK_MONOTONIC_RAW. NCCL's channels tell their times on the
// first, everything else is on the second.
namespace ncclprobe::nvidia {

// The GPU told its time somewhere between two readings of the host's clock.
struct ClockBracket {
  std::int64_t before_ns = 0;
  std::uint64_t gpu_ns = 0;
  std::int64_t after_ns = 0;
};

// One reading from many brackets of a moment: each bounds the offset, and all bounds hold. The
// timer shows the last of its steps of `step_ns`. Absent if there are no brackets, or none that
// agree, as when the clock was set in between.
std::optional<trace::ClockRow> clock_reading(std::span<const ClockBracket> brackets,
                                             std::uint64_t step_ns);

// Reads the clocks of GPUs. A thread of the GPU answers the host through memory that both reach,
// which takes less time than launching a kernel for each answer. Streams are idle meanwhile.
class GpuClocks {
public:
  // And reads it for the first time.
  void add(const std::shared_ptr<CudaGpu>& gpu);

  struct Reading {
    int gpu = 0;
    trace::ClockRow row;
  };
  // First those that were made by add(), then all GPUs that still live.
  std::vector<Reading> read_all();

private:
  static std::optional<Reading> read(const CudaGpu& gpu);

  std::vector<Reading> first_readings_;
  std::vector<std::weak_ptr<CudaGpu>> gpus_;
};

} // namespace ncclprobe::nvidia
