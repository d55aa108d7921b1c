// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/algorithms.h"

#include <algorithm>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {

void NcclChoiceTime::add(const NcclChoiceTime& other) {
  operations += other.operations;
  timed += other.timed;
  length_ns += other.length_ns;
  wait_ns += other.wait_ns;
  wait_error_ns += other.wait_error_ns;
  lengths_ns.add(other.lengths_ns);
  channels.add(other.channels);
}

void ChannelTimes::add(const ChannelTimes& other) {
  operations += other.operations;
  starts_apart_ns.add(other.starts_apart_ns);
  ends_apart_ns.add(other.ends_apart_ns);
  for (const auto& [channel, lengths] : other.lengths_ns)
    lengths_ns[channel].add(lengths);
}

namespace {

class Channels {
public:
  explicit Channels(const RankTrace& trace) {
    for (const trace::NcclChannelRow& row : trace.nccl_channels)
      rows_[row.nccl_operation].push_back(&row);
  }
  void add_to(ChannelTimes& times, std::uint32_t operation) const {
    auto found = rows_.find(operation);
    if (found == rows_.end() || found->second.size() < 2)
      return;
    Range starts, ends;
    for (const trace::NcclChannelRow* row : found->second) {
      if (row->start_gt == 0 || row->stop_gt < row->start_gt)
        return; // without it, first and last are unknown
      starts.add(row->start_gt);
      ends.add(row->stop_gt);
    }
    ++times.operations;
    times.starts_apart_ns.add(starts.length());
    times.ends_apart_ns.add(ends.length());
    for (const trace::NcclChannelRow* row : found->second)
      times.lengths_ns[row->channel].add(static_cast<double>(row->stop_gt - row->start_gt));
  }

private:
  struct Range {
    std::uint64_t first = UINT64_MAX, last = 0;
    void add(std::uint64_t at) {
      first = std::min(first, at);
      last = std::max(last, at);
    }
    double length() const { return static_cast<double>(last - first); }
  };
  std::unordered_map<std::uint32_t, std::vector<const trace::NcclChannelRow*>> rows_;
};

} // namespace

NcclChoices nccl_choices(const RankTrace& trace, const NcclTimes& times, const Joined& joined,
                         const Activities& activities, const OperationIndex& operations) {
  std::vector<std::uint32_t> activity_of = joined.activity_of;
  std::vector<std::int64_t> sharers(activities.all.size());
  if (activities.from_nccl)
    for (std::uint32_t i = 0; i < activities.all.size(); ++i)
      if (std::uint32_t row = activities.all[i].nccl; row > 0)
        activity_of[row - 1] = i + 1;
  for (std::uint32_t activity : activity_of)
    if (activity > 0)
      ++sharers[activity - 1];

  const Channels channels(trace);
  NcclChoices out;
  for (std::size_t i = 0; i < trace.nccl_operations.size(); ++i) {
    const auto& row = trace.nccl_operations[i];
    const DeviceActivity* activity =
        activity_of[i] > 0 ? &activities.all[activity_of[i] - 1] : nullptr;
    const std::uint32_t step =
        activity != nullptr ? activity->step : operations.step_of(row.operation);
    if (!operations.steps().empty() && step == k_no_step)
      continue;
    NcclChoiceTime& time = out[{operations.cell_of(step), row.function.id, row.algorithm.id,
                                row.protocol.id, row.channels}];
    ++time.operations;
    channels.add_to(time.channels, row.id);
    std::int64_t length_ns = times.length_ns[i];
    if (length_ns == 0 && activity != nullptr)
      length_ns = (activity->end_ns - activity->start_ns) / sharers[activity_of[i] - 1];
    if (length_ns == 0)
      continue;
    ++time.timed;
    time.length_ns += length_ns;
    time.lengths_ns.add(static_cast<double>(length_ns));
    if (activity == nullptr)
      continue;
    const std::int64_t sharing = sharers[activity_of[i] - 1];
    time.wait_ns += std::min(length_ns, (activity->ready_ns - activity->start_ns) / sharing);
    time.wait_error_ns += std::min(static_cast<double>(length_ns),
                                   double{activity->ready_error_ns} / static_cast<double>(sharing));
  }
  return out;
}

void add(NcclChoices& to, const NcclChoices& from) {
  for (const auto& [choice, time] : from)
    to[choice].add(time);
}

} // namespace ncclprobe::analysis::timeline
