// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/trace_rows.h"

#include "plugin/host_clock.h"
#include "plugin/profiler/provenance.h"

#include "base/hash.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace ncclprobe::plugin {
namespace {

constexpr std::uint64_t k_first_look_ns = 1'000'000'000;
constexpr std::uint64_t k_longest_look_ns = 10'000'000'000;

// Equal for operations that do the same.
std::uint64_t signature_of(const OperationBegun& begun) {
  base::Hash hash;
  for (std::uint64_t part :
       {std::uint64_t{begun.communicator}, std::uint64_t{begun.function}, begun.count,
        std::uint64_t{begun.data_type}, static_cast<std::uint64_t>(begun.peer),
        static_cast<std::uint64_t>(begun.root)})
    hash.step(part);
  return hash.value();
}

} // namespace

std::size_t TraceRows::take() {
  std::size_t taken = 0;
  for (; taken < TraceState::k_events; ++taken) { // other threads continue to write meanwhile
    auto event = state_.events.pop();
    if (!event)
      break;
    std::visit([this](const auto& one) { on(one); }, *event);
  }
  return taken + take_ranges();
}

std::size_t TraceRows::take_ranges() {
  if (ranks_known_.empty())
    return 0; // they belong to the rank of the first communicator
  std::size_t taken = 0;
  for (; taken < TraceState::k_events; ++taken) {
    const auto ended = ranges_.ended.pop();
    if (!ended)
      break;
    trace::RangeRow row;
    row.start_ns = ended->start_ns;
    row.end_ns = ended->end_ns;
    row.name = {ended->name};
    row.domain = {ended->domain};
    row.thread = ended->thread;
    row.level = ended->level;
    row.kind = ended->kind;
    add(state_.communicators.front().global_rank, row);
  }
  return taken;
}

void TraceRows::write() {
  if (waiting_ > 0)
    make_room();
  if (std::exchange(texts_of_, events_.begun()) != events_.begun()) {
    texts_.fill({});
    range_texts_.fill({});
  }
  for (auto& [rank, rows] : rows_) {
    for (auto& row : std::get<std::vector<trace::NcclOperationRow>>(rows))
      for (auto text : {&trace::NcclOperationRow::function, &trace::NcclOperationRow::algorithm,
                        &trace::NcclOperationRow::protocol, &trace::NcclOperationRow::data_type})
        intern(row.*text);
    for (auto& row : std::get<std::vector<trace::RangeRow>>(rows))
      for (auto text : {&trace::RangeRow::name, &trace::RangeRow::domain})
        intern_range(row.*text);
    events_.current().take(rank, rows);
  }
  waiting_ = 0;
}

// Ranges are the first to go, because NCCL's events are what a capture is for.
void TraceRows::make_room() {
  const std::uint64_t now_ns = clock_now(CLOCK_REALTIME);
  if (events_.make_room(bytes_waiting(), now_ns))
    return;
  for (auto& [rank, rows] : rows_) {
    auto& ranges = std::get<std::vector<trace::RangeRow>>(rows);
    ranges_left_out_ += ranges.size();
    ranges.clear();
  }
  if (events_.make_room(bytes_waiting(), now_ns))
    return;
  is_full_ = true;
  for (const auto& [rank, rows] : rows_)
    state_.operations_left_out += std::get<std::vector<trace::NcclOperationRow>>(rows).size();
  rows_.clear();
}

std::size_t TraceRows::bytes_waiting() const {
  std::size_t bytes = 0;
  for (const auto& [rank, rows] : rows_)
    std::apply(
        [&](const auto&... table) {
          ((bytes += sizeof(trace::BlockHeader) + table.size() * sizeof table[0]), ...);
        },
        rows);
  return bytes;
}

void TraceRows::take_open(std::uint64_t now_ns) {
  if (now_ns < next_look_ns_)
    return;
  const bool any = add_open(now_ns, k_first_look_ns);
  look_rest_ns_ =
      any ? std::clamp(2 * look_rest_ns_, k_first_look_ns, k_longest_look_ns) : k_first_look_ns;
  next_look_ns_ = now_ns + look_rest_ns_;
}

bool TraceRows::add_open(std::uint64_t now_ns, std::uint64_t least_ns) {
  if (now_ns < least_ns)
    return false;
  std::map<std::uint32_t, std::uint32_t> channels; // by operation
  state_.open_channels.for_each_since(now_ns - least_ns,
                                      [&](std::uint32_t operation) { ++channels[operation]; });
  for (Operation& operation : operations_)
    if (operation.has_row && operation.enqueue_ns + least_ns <= now_ns) {
      channels.try_emplace(operation.id, 0);
      write_early(operation);
    }
  for (const auto& [operation, open] : channels)
    spool_.append(rank_of(operation), trace::NcclOpenRow{now_ns, operation, open});
  return !channels.empty();
}

void TraceRows::take_unfinished(std::uint64_t now_ns) {
  add_open(now_ns, 0);
  for (Operation& operation : operations_)
    settle(operation);
  state_.channels.for_each_open([this](const trace::NcclChannelRow& row) { on(row); });
  state_.steps.for_each_open([this](const trace::NcclStepRow& row) { on(row); });
}

void TraceRows::write_losses(std::uint64_t now_ns) {
  auto write = [&](std::uint64_t lost, std::uint64_t& written, trace::LossKind kind) {
    if (lost > written)
      events_.current().append(state_.communicators.front().global_rank,
                               trace::LossRow{lost - written, now_ns, kind});
    written = lost;
  };
  write(state_.lost() + rejected_, losses_written_, trace::LossKind::plugin);
  write(ranges_.lost() + ranges_left_out_, ranges_lost_written_, trace::LossKind::ranges);
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
  spool_.append(communicator.global_rank, row);
  if (!ranks_known_.insert(communicator.global_rank).second)
    return;
  spool_.note(communicator.global_rank, "plugin_interface", std::to_string(communicator.interface));
  write_provenance(spool_, communicator.global_rank, communicator.device,
                   variables == nullptr ? Variables{} : *variables);
}

void TraceRows::on(const OperationBegun& begun) {
  steps_.add(signature_of(begun));
  Operation& place = place_of(begun.id);
  settle(place); // of an operation whose enqueueing was never reported
  place.id = begun.id;
  place.communicator = begun.communicator;
  place.enqueue_ns = begun.at_ns;
  place.has_row = true;
  place.is_written = false;
  place.is_first = !std::exchange(used_[begun.communicator], true);
  trace::NcclOperationRow& row = place.row;
  row = {};
  row.enqueue_ns = begun.at_ns;
  row.sequence = begun.sequence;
  row.count = begun.count;
  row.id = begun.id;
  row.operation = begun.operation;
  row.function = {begun.function};
  row.algorithm = {begun.algorithm};
  row.protocol = {begun.protocol};
  row.data_type = {begun.data_type};
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
  write_early(operation);
  operation.has_row = false;
}

void TraceRows::write_early(Operation& operation) {
  if (operation.has_row && !std::exchange(operation.is_written, true))
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

void TraceRows::intern(trace::TextId& word) {
  trace::TextId& text = texts_[word.id];
  if (word.id != 0 && text.id == 0)
    text = events_.current().intern(state_.words.text(static_cast<std::uint8_t>(word.id)));
  word = text;
}

void TraceRows::intern_range(trace::TextId& name) {
  trace::TextId& text = range_texts_[name.id];
  if (name.id != 0 && text.id == 0)
    text = events_.current().intern(ranges_.names.text(static_cast<std::uint16_t>(name.id)));
  name = text;
}

} // namespace ncclprobe::plugin
