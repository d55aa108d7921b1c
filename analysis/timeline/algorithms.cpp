// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/algorithms.h"

#include <algorithm>

namespace ncclprobe::analysis::timeline {

void NcclChoiceTime::add(const NcclChoiceTime& other) {
  operations += other.operations;
  timed += other.timed;
  length_ns += other.length_ns;
  wait_ns += other.wait_ns;
  lengths_ns.add(other.lengths_ns);
}

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

  NcclChoices out;
  for (std::size_t i = 0; i < trace.nccl_operations.size(); ++i) {
    const auto& row = trace.nccl_operations[i];
    const Activity* activity = activity_of[i] > 0 ? &activities.all[activity_of[i] - 1] : nullptr;
    if (!operations.steps().empty() &&
        (activity != nullptr ? activity->step : operations.step_of(row.operation)) == k_no_step)
      continue;
    NcclChoiceTime& time = out[{row.function.id, row.algorithm.id, row.protocol.id, row.channels}];
    ++time.operations;
    std::int64_t length_ns = times.length_ns[i];
    if (length_ns == 0 && activity != nullptr)
      length_ns = (activity->end_ns - activity->start_ns) / sharers[activity_of[i] - 1];
    if (length_ns == 0)
      continue;
    ++time.timed;
    time.length_ns += length_ns;
    time.lengths_ns.add(static_cast<double>(length_ns));
    if (activity != nullptr)
      time.wait_ns += std::min(length_ns, (activity->ready_ns - activity->start_ns) /
                                              sharers[activity_of[i] - 1]);
  }
  return out;
}

void add(NcclChoices& to, const NcclChoices& from) {
  for (const auto& [choice, time] : from)
    to[choice].add(time);
}

} // namespace ncclprobe::analysis::timeline
