// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/clock_readings.h"

#include "base/clock.h"
#include "nvidia/cuda_error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <utility>

namespace ncclprobe::nvidia {
namespace {

constexpr std::uint32_t k_brackets = 50;

// The host sends question after question; the kernel stops after a time-out if the host does not
// continue.
std::vector<ClockBracket> brackets_of(const CudaGpu& gpu, std::uint64_t& step_ns) {
  gpu.use();
  PinnedMemory<ClockBoard> memory(
      static_cast<ClockBoard*>(allocate_pinned_memory(sizeof(ClockBoard))));
  auto* board = new (memory.get()) ClockBoard{};
  NCCLPROBE_CUDA_CALL(enqueue_answer_clock(board, k_brackets, gpu.side_stream()));
  std::vector<ClockBracket> brackets;
  std::atomic_ref<std::uint32_t> asked(board->asked);
  std::atomic_ref<std::uint32_t> answered(board->answered);
  auto deadline = base::Deadline::after(std::chrono::milliseconds(k_clock_patience_ms));
  for (std::uint32_t i = 1; i <= k_brackets && !deadline.expired(); ++i) {
    ClockBracket bracket;
    bracket.before_ns = base::monotonic_ns();
    asked.store(i, std::memory_order_release);
    while (answered.load(std::memory_order_acquire) < i && !deadline.expired()) {
    }
    bracket.after_ns = base::monotonic_ns();
    if (answered.load(std::memory_order_acquire) < i)
      break;
    bracket.gpu_ns = board->gpu_ns;
    brackets.push_back(bracket);
  }
  gpu.finish_side_stream();
  step_ns = board->step_ns;
  return brackets;
}

} // namespace

std::optional<trace::ClockRow> clock_reading(std::span<const ClockBracket> brackets,
                                             std::uint64_t step_ns) {
  if (brackets.empty())
    return std::nullopt;
  std::int64_t least = INT64_MIN;
  std::int64_t most = INT64_MAX;
  std::int64_t round_trip_ns = INT64_MAX;
  for (const ClockBracket& one : brackets) {
    auto gpu_ns = static_cast<std::int64_t>(one.gpu_ns);
    // The true time lies between the timer's value and its next step.
    least = std::max(least, one.before_ns - gpu_ns - static_cast<std::int64_t>(step_ns));
    most = std::min(most, one.after_ns - gpu_ns);
    round_trip_ns = std::min(round_trip_ns, one.after_ns - one.before_ns);
  }
  if (most < least)
    return std::nullopt;
  trace::ClockRow row;
  row.kind = trace::ClockKind::globaltimer;
  row.at_ns = brackets[brackets.size() / 2].gpu_ns;
  row.offset_ns = least + (most - least) / 2;
  row.error_ns = static_cast<std::uint64_t>(most - least + 1) / 2;
  row.round_trip_ns = static_cast<std::uint64_t>(round_trip_ns);
  return row;
}

std::optional<GpuClocks::Reading> GpuClocks::read(const CudaGpu& gpu) {
  std::uint64_t step_ns = 0;
  std::vector<ClockBracket> brackets = brackets_of(gpu, step_ns);
  std::optional<trace::ClockRow> row = clock_reading(brackets, step_ns);
  if (!row)
    return std::nullopt;
  return Reading{gpu.index(), *row};
}

void GpuClocks::add(const std::shared_ptr<CudaGpu>& gpu) {
  gpus_.push_back(gpu);
  if (auto reading = read(*gpu))
    first_readings_.push_back(*reading);
}

std::vector<GpuClocks::Reading> GpuClocks::read_all() {
  std::vector<Reading> readings = std::exchange(first_readings_, {});
  for (const std::weak_ptr<CudaGpu>& weak : gpus_)
    if (std::shared_ptr<CudaGpu> gpu = weak.lock())
      if (auto reading = read(*gpu))
        readings.push_back(*reading);
  return readings;
}

} // namespace ncclprobe::nvidia
