// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/activities.h"

#include "analysis/timeline/rows_by_id.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {

using trace::OperationRow;
using trace::Table;

OperationIndex::OperationIndex(const std::vector<OperationRow>& rows) : rows_(&rows) {
  std::uint32_t last_id = 0;
  bool in_order = true;
  for (const OperationRow& row : rows) {
    in_order = in_order && row.id >= last_id;
    last_id = std::max(last_id, row.id);
  }
  // Numbers count from 1: others are damaged, and their rows are omitted.
  last_id = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(last_id, 64 + 16 * static_cast<std::uint64_t>(rows.size())));
  places_.resize(last_id + 1);
  std::vector<std::uint32_t> order(in_order ? 0 : rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return rows[a].id < rows[b].id; });
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    std::uint32_t at = in_order ? i : order[i];
    const OperationRow& row = rows[at];
    if (row.id > last_id)
      continue;
    places_[row.id].row = at + 1;
    if (row.batch < 0)
      continue;
    StepKey key{row.cell, row.batch, row.iteration};
    if (steps_.empty() || steps_.back() != key)
      steps_.push_back(key);
    places_[row.id].step = static_cast<std::uint32_t>(steps_.size() - 1);
  }
}

const OperationRow* OperationIndex::find(std::uint32_t id) const {
  return id > 0 && id < places_.size() && places_[id].row > 0 ? &(*rows_)[places_[id].row - 1]
                                                              : nullptr;
}

std::uint32_t OperationIndex::step_of(std::uint32_t id) const {
  return id > 0 && id < places_.size() ? places_[id].step : k_no_step;
}

namespace {

template <typename T>
T value_at(const std::vector<T>& column, std::size_t row) {
  return row < column.size() ? column[row] : T{};
}

class LongDurations {
public:
  LongDurations(const std::vector<trace::LongRow>& rows, Table table) {
    for (const trace::LongRow& row : rows)
      if (row.table == table)
        lengths_[row.start_ns] = row.duration_ns;
  }
  std::int64_t length(std::uint64_t start_ns, std::uint32_t duration_ns) const {
    auto found = duration_ns == trace::k_long_duration ? lengths_.find(start_ns) : lengths_.end();
    return static_cast<std::int64_t>(found == lengths_.end() ? duration_ns : found->second);
  }

private:
  std::unordered_map<std::uint64_t, std::uint64_t> lengths_;
};

Class class_of(std::uint8_t flags, Table table, const OperationRow* operation) {
  if ((flags & trace::k_communication) != 0)
    return Class::communication;
  const bool is_host = operation != nullptr && operation->kind == trace::OperationKind::host;
  if ((flags & trace::k_helper) != 0 || is_host)
    return Class::helper;
  // A copy by a kernel or the CPU is a copy too.
  bool copies = operation != nullptr && operation->kind == trace::OperationKind::copy;
  return table == Table::copy || copies ? Class::memory : Class::compute;
}

void add_device(const DeviceColumns& columns, Table table, const LongDurations& longs,
                const OperationIndex& operations, Pass pass, Activities& out) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::uint8_t flags = value_at(columns.flags, i);
    if (pass == Pass::collectives && (flags & trace::k_communication) == 0)
      continue;
    if ((flags & trace::k_no_times) != 0) {
      ++out.without_times;
      continue;
    }
    DeviceActivity activity;
    activity.start_ns = static_cast<std::int64_t>(columns.start_ns[i]);
    activity.end_ns = activity.start_ns + longs.length(columns.start_ns[i], columns.duration_ns[i]);
    activity.ready_ns = activity.start_ns;
    activity.name = value_at(columns.name, i).id;
    activity.operation = value_at(columns.operation, i);
    activity.correlation = value_at(columns.correlation, i);
    activity.stream = value_at(columns.stream, i);
    std::uint64_t node = value_at(columns.graph_node, i);
    activity.shape = node != 0 ? static_cast<std::uint32_t>((node ^ (node >> 32)) * 0x9e3779b9u)
                               : value_at(columns.grid, i);
    activity.step = operations.step_of(activity.operation);
    activity.kind = class_of(flags, table, operations.find(activity.operation));
    out.all.push_back(activity);
  }
}

void add_nccl(const RankTrace& trace, const OperationIndex& operations, const NcclTimes& times,
              Activities& out) {
  out.from_nccl = true;
  for (std::size_t i = 0; i < trace.nccl_operations.size(); ++i) {
    if (!times.on_rank_clock[i]) {
      ++out.without_times;
      continue;
    }
    const auto& row = trace.nccl_operations[i];
    DeviceActivity activity;
    activity.start_ns = times.spans[i].begin;
    activity.end_ns = times.spans[i].end;
    activity.ready_ns = activity.start_ns;
    activity.name = row.function.id;
    activity.shape = static_cast<std::uint32_t>(row.count);
    activity.operation = row.operation;
    activity.nccl = static_cast<std::uint32_t>(i + 1);
    activity.step = operations.step_of(row.operation);
    activity.stream = row.communicator; // the closest known substitute for a stream
    activity.kind = Class::communication;
    out.heard += times.heard[i];
    out.all.push_back(activity);
  }
}

} // namespace

Spans spans_of(const DeviceColumns& columns, Table table,
               const std::vector<trace::LongRow>& long_durations) {
  const LongDurations longs(long_durations, table);
  Spans spans;
  spans.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto start_ns = static_cast<std::int64_t>(columns.start_ns[i]);
    spans.push_back(
        {start_ns, start_ns + longs.length(columns.start_ns[i], columns.duration_ns[i])});
  }
  return spans;
}

Activities activities_of(const RankTrace& trace, const OperationIndex& operations,
                         const NcclTimes& nccl, Pass pass) {
  Activities out;
  if (pass == Pass::everything)
    out.all.reserve(trace.kernels.size() + trace.copies.size());
  const bool in_windows = !trace.kernel_windows.empty();
  if (!in_windows || pass == Pass::everything)
    add_device(trace.kernels, Table::kernel, {trace.long_durations, Table::kernel}, operations,
               pass, out);
  if (in_windows)
    std::erase_if(out.all, [](const auto& one) { return one.kind == Class::communication; });
  add_device(trace.copies, Table::copy, {trace.long_durations, Table::copy}, operations, pass, out);
  if ((in_windows || trace.kernels.size() == 0) && !trace.nccl_operations.empty())
    add_nccl(trace, operations, nccl, out);
  auto earlier = [](const DeviceActivity& a, const DeviceActivity& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
  };
  if (!std::is_sorted(out.all.begin(), out.all.end(), earlier))
    std::sort(out.all.begin(), out.all.end(), earlier);
  return out;
}

NcclTimes nccl_times(const RankTrace& trace, const std::optional<ClockModel>& gpu) {
  std::size_t count = trace.nccl_operations.size();
  NcclTimes out{Spans(count), std::vector<std::int64_t>(count), std::vector<bool>(count),
                std::vector<bool>(count), 0};
  const RowsById rows(trace.nccl_operations);
  // First and last of all channels. An operation has GPU times only if all its channels have.
  struct Range {
    std::uint64_t first = UINT64_MAX, last = 0;
    bool complete = true;
    void add(std::uint64_t start, std::uint64_t stop) {
      complete = complete && start != 0 && stop >= start;
      first = std::min(first, start);
      last = std::max(last, stop);
    }
  };
  std::vector<Range> device(count), heard(count);
  std::vector<bool> any(count);
  for (const trace::NcclChannelRow& row : trace.nccl_channels) {
    const std::uint32_t at = rows.find(row.nccl_operation);
    if (at == RowsById::k_none)
      continue;
    ++out.channels_joined;
    any[at] = true;
    device[at].add(row.start_gt, row.stop_gt);
    heard[at].add(row.start_ns, row.stop_ns);
  }
  // The host hears late, by up to milliseconds: its times cannot be combined with the GPU's.
  bool gpu_tells = false;
  for (std::size_t i = 0; i < count; ++i)
    gpu_tells = gpu_tells || (gpu && any[i] && device[i].complete);
  for (std::size_t i = 0; i < count; ++i) {
    if (!any[i])
      continue;
    if (device[i].complete)
      out.length_ns[i] = static_cast<std::int64_t>(device[i].last - device[i].first);
    if (device[i].complete && gpu) {
      out.spans[i] = {gpu->to_reference(device[i].first), gpu->to_reference(device[i].last)};
      out.on_rank_clock[i] = true;
    } else if (!gpu_tells && heard[i].complete) {
      out.spans[i] = {static_cast<std::int64_t>(heard[i].first),
                      static_cast<std::int64_t>(heard[i].last)};
      out.on_rank_clock[i] = out.heard[i] = true;
      if (!device[i].complete)
        out.length_ns[i] = out.spans[i].length();
    }
  }
  return out;
}

StepWindows step_windows(const Activities& activities, const OperationIndex& operations,
                         bool last_are_open) {
  StepWindows out;
  if (activities.all.empty())
    return out;
  const auto& keys = operations.steps();
  struct Extent {
    std::int64_t first = INT64_MAX, last = INT64_MIN;
  };
  std::vector<Extent> extents(keys.size());
  Extent whole;
  for (const DeviceActivity& activity : activities.all) {
    whole.first = std::min(whole.first, activity.start_ns);
    whole.last = std::max(whole.last, activity.end_ns);
    if (activity.step == k_no_step || activity.kind == Class::helper)
      continue;
    Extent& extent = extents[activity.step];
    extent.first = std::min(extent.first, activity.start_ns);
    extent.last = std::max(extent.last, activity.end_ns);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (extents[i].first == INT64_MAX)
      continue;
    out.keys.push_back(keys[i]);
    out.windows.push_back({extents[i].first, extents[i].last});
  }
  if (out.keys.empty()) {
    out.keys.emplace_back();
    out.windows.push_back({whole.first, whole.last});
    return out;
  }
  auto same_batch = [&](std::size_t a, std::size_t b) {
    return out.keys[a].cell == out.keys[b].cell && out.keys[a].batch == out.keys[b].batch;
  };
  std::int64_t batch_end = INT64_MIN;
  for (std::size_t i = 0; i < out.windows.size(); ++i) { // the batch's end, in its last step
    bool starts = i == 0 || !same_batch(i - 1, i);
    batch_end = starts ? out.windows[i].end : std::max(batch_end, out.windows[i].end);
    out.windows[i].end = batch_end;
  }
  for (std::size_t i = out.windows.size(); i-- > 1;)
    if (same_batch(i - 1, i)) {
      out.windows[i - 1].begin = std::min(out.windows[i - 1].begin, out.windows[i].begin);
      out.windows[i - 1].end = out.windows[i].begin;
    }
  // Batches follow each other; overlapping ones are cut.
  for (std::size_t i = 1; i < out.windows.size(); ++i) {
    out.windows[i].begin = std::max(out.windows[i].begin, out.windows[i - 1].end);
    out.windows[i].end = std::max(out.windows[i].end, out.windows[i].begin);
  }
  if (!last_are_open)
    return out;
  StepWindows closed;
  for (std::size_t i = 0; i + 1 < out.windows.size(); ++i)
    if (same_batch(i, i + 1)) {
      closed.windows.push_back(out.windows[i]);
      closed.keys.push_back(out.keys[i]);
    }
  return closed;
}

} // namespace ncclprobe::analysis::timeline
