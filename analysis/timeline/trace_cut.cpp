// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/trace_cut.h"

#include "analysis/timeline/channel_times.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace ncclprobe::analysis::timeline {
namespace {

using trace::Table;

template <typename T>
void keep(std::vector<T>& column, const std::vector<bool>& kept) {
  if (column.size() != kept.size())
    return; // a column that the trace lacks
  std::size_t next = 0;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i])
      column[next++] = column[i];
  column.resize(next);
}

void keep(DeviceColumns& columns, const std::vector<bool>& kept) {
  keep(columns.start_ns, kept);
  keep(columns.duration_ns, kept);
  keep(columns.name, kept);
  keep(columns.operation, kept);
  keep(columns.correlation, kept);
  keep(columns.grid, kept);
  keep(columns.graph_node, kept);
  keep(columns.stream, kept);
  keep(columns.flags, kept);
}

std::uint32_t operation_of(const DeviceColumns& columns, std::size_t row) {
  return row < columns.operation.size() ? columns.operation[row] : 0;
}

// `is_inside(span, operation)` for device activity, on the rank's clock; `holds(at_ns)` for a
// moment.
template <typename IsInside, typename Holds>
class Cutter {
public:
  Cutter(RankTrace& trace, IsInside is_inside, Holds holds)
      : trace_(trace), is_inside_(is_inside), holds_(holds) {}

  void cut(const NcclTimes& times) {
    std::unordered_set<std::uint32_t> launched, kept_launches; // operations with kernels
    std::vector<bool> kept = inside(trace_.kernels, Table::kernel);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (std::uint32_t operation = operation_of(trace_.kernels, i); operation != 0) {
        launched.insert(operation);
        if (kept[i])
          kept_launches.insert(operation);
      }
    keep(trace_.kernels, kept);
    keep(trace_.copies, inside(trace_.copies, Table::copy));

    std::unordered_set<std::uint32_t> known, left; // NCCL's operations
    std::vector<bool> operations(trace_.nccl_operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const trace::NcclOperationRow& row = trace_.nccl_operations[i];
      known.insert(row.id);
      if (row.operation != 0 && launched.contains(row.operation))
        operations[i] = kept_launches.contains(row.operation);
      else if (times.on_rank_clock[i])
        operations[i] = is_inside_(times.spans[i], row.operation);
      else
        operations[i] = holds_(static_cast<std::int64_t>(row.enqueue_ns));
      if (operations[i])
        left.insert(row.id);
    }
    keep(trace_.nccl_operations, operations);
    auto is_left = [&](const auto& row) {
      return known.contains(row.nccl_operation) ? left.contains(row.nccl_operation)
                                                : holds_(static_cast<std::int64_t>(row.start_ns));
    };
    std::erase_if(trace_.nccl_channels, [&](const auto& row) { return !is_left(row); });
    std::erase_if(trace_.nccl_steps, [&](const auto& row) { return !is_left(row); });
  }

private:
  std::vector<bool> inside(const DeviceColumns& columns, Table table) const {
    const Spans spans = spans_of(columns, table, trace_.long_durations);
    std::vector<bool> kept(spans.size());
    for (std::size_t i = 0; i < kept.size(); ++i)
      kept[i] = is_inside_(spans[i], operation_of(columns, i));
    return kept;
  }

  RankTrace& trace_;
  IsInside is_inside_;
  Holds holds_;
};

// Only later rows show which times were overwritten: determined before those are cut.
class Overwritten {
public:
  explicit Overwritten(RankTrace& trace) : trace_(trace) {
    std::vector<bool> told;
    for (const trace::NcclChannelRow& row : trace.nccl_channels)
      told.push_back(row.start_gt != 0);
    if (forget_overwritten(trace.nccl_operations, trace.nccl_channels) == 0)
      return;
    for (std::size_t i = 0; i < told.size(); ++i)
      if (const trace::NcclChannelRow& row = trace.nccl_channels[i]; told[i] && row.start_gt == 0)
        rows_.emplace(row.nccl_operation, row.channel);
  }
  // Those that remain.
  void count() {
    for (const trace::NcclChannelRow& row : trace_.nccl_channels)
      trace_.channels_overwritten += rows_.contains({row.nccl_operation, row.channel});
  }

private:
  RankTrace& trace_;
  std::set<std::pair<std::uint32_t, std::uint8_t>> rows_;
};

void cut_all(RankTrace& trace) {
  trace.kernels = trace.copies = {};
  trace.nccl_operations.clear();
  trace.nccl_channels.clear();
  trace.nccl_steps.clear();
}

} // namespace

std::size_t keep_window(RankTrace& trace, const Clocks::OfRank& clock, Span window) {
  if (!clock.host)
    return trace.kernels.size() + trace.copies.size() + trace.nccl_operations.size();
  Overwritten overwritten(trace);
  auto holds = [&](std::int64_t own_ns) {
    const std::int64_t at = clock.host->to_reference(static_cast<std::uint64_t>(own_ns));
    return at >= window.begin && at < window.end;
  };
  auto is_inside = [&](const Span& span, std::uint32_t) { return holds(span.begin); };
  Cutter(trace, is_inside, holds).cut(nccl_times(trace, clock.gpu));
  overwritten.count();
  return trace.kernels.size() + trace.copies.size() + trace.nccl_operations.size();
}

void keep_steps(RankTrace& trace, const Clocks::OfRank& clock, const std::set<StepKey>& wanted,
                Pass pass) {
  for (trace::OperationRow& row : trace.operations)
    if (row.batch >= 0 && !wanted.contains({row.cell, row.batch, row.iteration}))
      row.batch = -1;
  if (std::ranges::none_of(trace.operations, [](const auto& row) { return row.batch >= 0; }))
    return cut_all(trace);
  // The next step, which shows the end of the last one, is cut off too. A single step ends with its
  // last activity.
  trace.last_steps_are_open = trace.last_steps_are_open && wanted.size() > 1;
  if (pass == Pass::collectives)
    return;
  Overwritten overwritten(trace);
  const OperationIndex operations(trace.operations);
  const NcclTimes times = nccl_times(trace, clock.gpu);
  const StepWindows steps = step_windows(activities_of(trace, operations, times), operations);
  // Whether something overlaps a window: of those that begin before its end, the last one ends
  // last.
  auto overlaps = [&](const Span& span) {
    auto after = std::ranges::lower_bound(steps.windows, std::max(span.end, span.begin + 1), {},
                                          &Span::begin);
    return after != steps.windows.begin() && std::prev(after)->end > span.begin;
  };
  auto is_inside = [&](const Span& span, std::uint32_t operation) {
    return operations.step_of(operation) != k_no_step || overlaps(span);
  };
  auto holds = [&](std::int64_t own_ns) { return is_inside({own_ns, own_ns + 1}, 0); };
  Cutter(trace, is_inside, holds).cut(times);
  overwritten.count();
}

} // namespace ncclprobe::analysis::timeline
