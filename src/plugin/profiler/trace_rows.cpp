// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/trace_rows.h"

#include "plugin/profiler/provenance.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace ncclprobe::plugin {

std::size_t TraceRows::take() {
  std::size_t taken = 0;
  for (; taken < TraceState::k_events; ++taken) { // other threads continue to write meanwhile
    auto event = state_.events.pop();
    if (!event)
      break;
    std::visit([this](const auto& one) { on(one); }, *event);
  }
  return taken;
}

void TraceRows::write() {
  for (auto& [rank, rows] : rows_)
    spool_.take(rank, rows);
  waiting_ = 0;
}

void TraceRows::take_unfinished() {
  for (Operation& operation : operations_)
    settle(operation);
  state_.channels.for_each_open([this](const trace::NcclChannelRow& row) { on(row); });
  state_.steps.for_each_open([this](const trace::NcclStepRow& row) { on(row); });
}

void TraceRows::write_losses(std::uint64_t now_ns) {
  std::uint64_t lost = state_.lost() + rejected_;
  if (lost > losses_written_)
    spool_.append(state_.communicators.front().global_rank,
                  trace::LossRow{lost - losses_written_, now_ns, trace::LossKind::plugin});
  losses_written_ = lost;
}

void TraceRows::on(const CommunicatorMade& made) {
  Communicator& communicator = state_.communicators[made.communicator];
  const std::unique_ptr<const Variables> variables(std::exchange(communicator.variables, nullptr));
  trace::CommunicatorRow row;
  row.id = made.communicator;
  row.hash = communicator.hash;
  row.name = spool_.intern(communicator.name.text());
  row.ranks = communicator.size;
  row.rank = communicator.rank;
  row.nodes = communicator.nodes;
  add(communicator.global_rank, row);
  if (!ranks_known_.insert(communicator.global_rank).second)
    return;
  spool_.note(communicator.global_rank, "plugin_interface", std::to_string(communicator.interface));
  write_provenance(spool_, communicator.global_rank, communicator.device,
                   variables == nullptr ? Variables{} : *variables);
}

void TraceRows::on(const OperationBegun& begun) {
  Operation& place = place_of(begun.id);
  settle(place); // of an operation whose enqueueing was never reported
  place.id = begun.id;
  place.communicator = begun.communicator;
  place.enqueue_ns = begun.at_ns;
  place.has_row = true;
  place.is_first = !std::exchange(used_[begun.communicator], true);
  trace::NcclOperationRow& row = place.row;
  row = {};
  row.enqueue_ns = begun.at_ns;
  row.sequence = begun.sequence;
  row.count = begun.count;
  row.id = begun.id;
  row.operation = begun.operation;
  row.function = text(begun.function);
  row.algorithm = text(begun.algorithm);
  row.protocol = text(begun.protocol);
  row.data_type = text(begun.data_type);
  row.peer = begun.peer;
  row.root = begun.root;
  row.communicator = begun.communicator;
  row.channels = begun.channels;
  row.warps = begun.warps;
  row.kind = begun.kind;
}

void TraceRows::on(const OperationEnqueued& enqueued) {
  Operation& place = place_of(enqueued.id);
  if (place.id != enqueued.id || !place.has_row)
    return;
  place.row.enqueued_ns = enqueued.at_ns;
  settle(place);
}

void TraceRows::settle(Operation& operation) {
  if (!operation.has_row)
    return;
  operation.has_row = false;
  add(rank_of(operation.id), operation.row);
}

void TraceRows::on(trace::NcclChannelRow row) {
  if (!is_credible(row)) {
    ++rejected_;
    return;
  }
  if (clock_ == GpuClock::estimated)
    bound_clock(row);
  add(rank_of(row.nccl_operation), row);
}

void TraceRows::bound_clock(const trace::NcclChannelRow& row) {
  const Operation& operation = place_of(row.nccl_operation);
  // NCCL may report a communicator's first operation only after it has begun (1 us later on H200),
  // which bounds nothing.
  if (row.start_gt == 0 || row.stop_gt == 0 || row.stop_ns == 0 ||
      operation.id != row.nccl_operation || operation.is_first)
    return;
  bounds_[operation.communicator].add(row, operation.enqueue_ns);
}

void TraceRows::take_clock_readings() {
  for (const auto& [communicator, bounds] : bounds_)
    if (auto row = bounds.reading())
      add(state_.communicators[communicator].global_rank, *row);
  bounds_.clear();
}

// NCCL's kernels write their times into rings of 64 places. If the host thread reads them too late,
// they belong to another kernel. Times before the enqueueing, or with the end before the start, are
// therefore rejected.
bool TraceRows::is_credible(const trace::NcclChannelRow& row) {
  if (row.stop_gt != 0 && row.stop_gt < row.start_gt)
    return false;
  const Operation& operation = place_of(row.nccl_operation);
  if (row.start_gt == 0 || operation.id != row.nccl_operation)
    return true;
  TimerBound& timer = timers_[operation.communicator];
  auto heard_ns = static_cast<std::int64_t>(row.start_ns);
  auto start_gt = static_cast<std::int64_t>(row.start_gt);
  std::int64_t offset_ns = heard_ns - start_gt; // at least the true time: the report comes later
  if (timer.at_ns != 0) {
    std::uint64_t since_ns = row.start_ns > timer.at_ns ? row.start_ns - timer.at_ns : 0;
    auto drift_ns = static_cast<std::int64_t>(static_cast<double>(since_ns) * trace::k_most_drift);
    offset_ns = std::min(offset_ns, timer.offset_ns + drift_ns);
  }
  timer = {offset_ns, row.start_ns};
  // The first operation of a communicator may be reported after it has begun, and nothing came
  // before it.
  return operation.is_first ||
         start_gt + offset_ns >= static_cast<std::int64_t>(operation.enqueue_ns);
}

int TraceRows::rank_of(std::uint32_t operation) {
  const Operation& place = place_of(operation);
  if (operation != 0 && place.id == operation)
    return state_.communicators[place.communicator].global_rank;
  return state_.communicators.front().global_rank; // of another process, or forgotten
}

trace::TextId TraceRows::text(std::uint8_t word) {
  if (word != 0 && texts_[word].id == 0)
    texts_[word] = spool_.intern(state_.words.text(word));
  return texts_[word];
}

} // namespace ncclprobe::plugin
