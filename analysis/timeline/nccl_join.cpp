// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/nccl_join.h"

#include <algorithm>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {

void JoinCounts::add(const JoinCounts& other) {
  kernels += other.kernels;
  kernels_by_key += other.kernels_by_key;
  kernels_by_time += other.kernels_by_time;
  operations += other.operations;
  operations_joined += other.operations_joined;
  channels += other.channels;
  channels_joined += other.channels_joined;
  channels_overwritten += other.channels_overwritten;
  proxy_steps += other.proxy_steps;
  proxy_steps_joined += other.proxy_steps_joined;
  channels_compared += other.channels_compared;
  channels_outside += other.channels_outside;
  worst_outside_ns = std::max(worst_outside_ns, other.worst_outside_ns);
}

namespace {

using Rows = std::vector<std::uint32_t>;

// Kernels and NCCL operations of one operation of the schedule, both in order of time.
struct Group {
  Rows kernels, operations;
};

class Joiner {
public:
  Joiner(const RankTrace& trace, Activities& activities) : trace_(trace), activities_(activities) {
    out_.activity_of.resize(trace.nccl_operations.size());
  }

  void join(std::uint32_t operation, std::uint32_t activity, std::uint64_t& count) {
    out_.activity_of[operation] = activity + 1;
    DeviceActivity& kernel = activities_.all[activity];
    if (kernel.nccl != 0)
      return;
    kernel.nccl = operation + 1;
    kernel.shape = static_cast<std::uint32_t>(trace_.nccl_operations[operation].count);
    ++count;
  }

  void by_key(const Group& group) {
    if (group.kernels.size() != group.operations.size() && group.kernels.size() != 1)
      return; // only times can assign them
    for (std::size_t i = 0; i < group.operations.size(); ++i)
      join(group.operations[i], group.kernels.size() == 1 ? group.kernels[0] : group.kernels[i],
           out_.counts.kernels_by_key);
  }

  // `kernels` by start, which on one GPU is nearly the order of ends too.
  void by_time(const Rows& kernels, const NcclTimes& times, std::int64_t tolerance_ns) {
    for (std::uint32_t i = 0; i < out_.activity_of.size(); ++i) {
      if (out_.activity_of[i] != 0 || !times.on_rank_clock[i] || times.heard[i])
        continue;
      const Span& span = times.spans[i];
      auto after = std::upper_bound(kernels.begin(), kernels.end(), span.begin + tolerance_ns,
                                    [&](std::int64_t at, std::uint32_t kernel) {
                                      return at < activities_.all[kernel].start_ns;
                                    });
      // The last that begins before it; kernels of several communicators overlap.
      for (int tries = 0; tries < 8 && after != kernels.begin(); ++tries) {
        std::uint32_t kernel = *--after;
        if (activities_.all[kernel].end_ns + tolerance_ns < span.end)
          continue;
        join(i, kernel, out_.counts.kernels_by_time);
        break;
      }
    }
  }

  Joined& out() { return out_; }

private:
  const RankTrace& trace_;
  Activities& activities_;
  Joined out_;
};

} // namespace

Joined join_nccl(const RankTrace& trace, const NcclTimes& times, double gpu_error_ns,
                 Activities& activities) {
  Joiner joiner(trace, activities);
  Joined& out = joiner.out();
  JoinCounts& counts = out.counts;
  counts.operations = trace.nccl_operations.size();
  counts.channels = trace.nccl_channels.size();
  counts.channels_joined = times.channels_joined;
  counts.proxy_steps = trace.nccl_steps.size();
  if (!trace.nccl_steps.empty()) {
    std::vector<std::uint32_t> ids;
    for (const auto& row : trace.nccl_operations)
      ids.push_back(row.id);
    std::sort(ids.begin(), ids.end());
    for (const auto& step : trace.nccl_steps)
      counts.proxy_steps_joined += std::binary_search(ids.begin(), ids.end(), step.nccl_operation);
  }
  if (activities.from_nccl || trace.nccl_operations.empty()) {
    if (!activities.from_nccl)
      for (const DeviceActivity& activity : activities.all)
        counts.kernels += activity.kind == Class::communication;
    return out;
  }

  Rows kernels;
  std::unordered_map<std::uint32_t, Group> groups;
  for (std::uint32_t i = 0; i < activities.all.size(); ++i)
    if (activities.all[i].kind == Class::communication) {
      kernels.push_back(i);
      if (activities.all[i].operation != 0)
        groups[activities.all[i].operation].kernels.push_back(i);
    }
  counts.kernels = kernels.size();
  for (std::uint32_t i = 0; i < trace.nccl_operations.size(); ++i)
    if (std::uint32_t operation = trace.nccl_operations[i].operation; operation != 0)
      groups[operation].operations.push_back(i);
  for (auto& [operation, group] : groups) {
    std::sort(group.operations.begin(), group.operations.end(), [&](auto a, auto b) {
      return trace.nccl_operations[a].id < trace.nccl_operations[b].id;
    });
    joiner.by_key(group);
  }
  joiner.by_time(kernels, times, static_cast<std::int64_t>(gpu_error_ns));
  for (std::uint32_t i = 0; i < out.activity_of.size(); ++i) {
    if (out.activity_of[i] == 0)
      continue;
    ++counts.operations_joined;
    if (!times.on_rank_clock[i] || times.heard[i])
      continue;
    const DeviceActivity& kernel = activities.all[out.activity_of[i] - 1];
    ++counts.channels_compared;
    std::int64_t outside_ns =
        std::max(kernel.start_ns - times.spans[i].begin, times.spans[i].end - kernel.end_ns);
    counts.channels_outside += static_cast<double>(outside_ns) > gpu_error_ns;
    counts.worst_outside_ns = std::max(counts.worst_outside_ns, std::optional(outside_ns));
  }
  return out;
}

} // namespace ncclprobe::analysis::timeline
