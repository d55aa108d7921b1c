// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"
#include "analysis/timeline/time_parts.h"

#include <cstdint>
#include <vector>

// The kernels of a captured job (record --cuda), which are recorded in windows of some steps of
// many. Communication is known at all times, from NCCL's reports.
namespace ncclprobe::analysis::timeline {

// Moves the communication in windows to the times of its kernels: NCCL's times are from its
// channels, on another clock of the GPU, and their error would count as exposed or hidden. An
// operation whose kernel is not clear keeps its times. What ran beside communication outside
// windows is marked as unknown.
void take_kernel_times(const RankTrace& trace, Activities& activities);

// Whether all kernels of a step were recorded: its operations, the one before them and the first
// of the next step were enqueued in one window. Always false without windows.
std::vector<bool> steps_with_kernels(const RankTrace& trace, const OperationIndex& operations,
                                     const StepWindows& steps);

// Times in which the GPU had nothing to do. input: its input was late (input_waits.h). host_late:
// the rest of such a time if it is longer than k_launch_gap_ns: the host had not launched the next
// kernel. launch: the rest of shorter ones, between two kernels.
struct IdleParts {
  std::int64_t input_ns = 0, host_late_ns = 0, launch_ns = 0;
  void add(const IdleParts& other) {
    input_ns += other.input_ns;
    host_late_ns += other.host_late_ns;
    launch_ns += other.launch_ns;
  }
  bool operator==(const IdleParts&) const = default;
};
inline constexpr std::int64_t k_launch_gap_ns = 20'000;

// One for each window. `loading`: InputRanges::of().
std::vector<IdleParts> idle_parts(const RankTrace& trace, const BusySets& busy,
                                  const Spans& loading, const Spans& windows);

} // namespace ncclprobe::analysis::timeline
