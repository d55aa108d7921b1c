// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"
#include "base/fields.h"

#include <cstdint>
#include <optional>
#include <vector>

// Joins the rows of one rank: kernel, NCCL operation, channels and proxy steps.
namespace ncclprobe::analysis::timeline {

// How often the join by key succeeds. By time: an NCCL operation without a key, whose channels lie
// within one kernel.
struct JoinCounts {
  std::uint64_t kernels = 0; // of the communication library
  std::uint64_t kernels_by_key = 0;
  std::uint64_t kernels_by_time = 0;
  std::uint64_t operations = 0; // of NCCL
  std::uint64_t operations_joined = 0;
  std::uint64_t channels = 0;
  std::uint64_t channels_joined = 0;
  std::uint64_t channels_overwritten = 0; // channel_times.h
  std::uint64_t proxy_steps = 0;
  std::uint64_t proxy_steps_joined = 0;
  // Joined operations whose channels have GPU times; of these, those that exceed their kernel by
  // more than that clock's error, and by how much at most (negative: all lie within).
  std::uint64_t channels_compared = 0;
  std::uint64_t channels_outside = 0;
  std::optional<std::int64_t> worst_outside_ns;

  void add(const JoinCounts& other);
};
NCCLPROBE_FIELDS(JoinCounts, kernels, kernels_by_key, kernels_by_time, operations,
                 operations_joined, channels, channels_joined, channels_overwritten, proxy_steps,
                 proxy_steps_joined, channels_compared, channels_outside, worst_outside_ns)

struct Joined {
  JoinCounts counts;
  std::vector<std::uint32_t> activity_of; // by row of nccl_operations: index + 1; 0: none
};
// Sets DeviceActivity::nccl, and shape to the elements. One kernel may contain several operations.
Joined join_nccl(const RankTrace& trace, const NcclTimes& times, double gpu_error_ns,
                 Activities& activities);

} // namespace ncclprobe::analysis::timeline
