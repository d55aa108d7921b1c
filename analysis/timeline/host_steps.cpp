// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/host_steps.h"

#include <algorithm>

namespace ncclprobe::analysis::timeline {

HostSteps host_steps(const RankTrace& trace, const OperationIndex& operations) {
  const std::vector<StepKey>& keys = operations.steps();
  std::vector<std::int64_t> first_ns(keys.size(), INT64_MAX);
  for (const trace::NcclOperationRow& row : trace.nccl_operations)
    if (const std::uint32_t step = operations.step_of(row.operation); step != k_no_step)
      first_ns[step] = std::min(first_ns[step], static_cast<std::int64_t>(row.enqueue_ns));
  HostSteps steps;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i)
    if (keys[i + 1].cell == keys[i].cell && keys[i + 1].batch == keys[i].batch &&
        first_ns[i] < first_ns[i + 1] && first_ns[i + 1] != INT64_MAX &&
        (steps.windows.empty() || steps.windows.back().end <= first_ns[i])) {
      steps.windows.push_back({first_ns[i], first_ns[i + 1]});
      steps.cells.push_back(keys[i].cell);
    }
  return steps;
}

Span span_of(const trace::RangeRow& row) {
  return {static_cast<std::int64_t>(row.start_ns), static_cast<std::int64_t>(row.end_ns)};
}

bool covers_several(const Span& range, const Spans& windows) {
  const auto first = std::ranges::lower_bound(windows, range.begin, {}, &Span::begin);
  return windows.end() - first > 1 && (first + 1)->end <= range.end;
}

} // namespace ncclprobe::analysis::timeline
