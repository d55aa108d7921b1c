// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/captured_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ncclprobe::analysis::hang {
namespace {

CallKind kind_of(trace::NcclKind kind) {
  switch (kind) {
  case trace::NcclKind::collective:
    break;
  case trace::NcclKind::send:
    return CallKind::send;
  case trace::NcclKind::receive:
    return CallKind::receive;
  }
  return CallKind::collective;
}

constexpr std::int32_t k_most_ranks_of_one = 1 << 20; // of a communicator; more are damage

} // namespace

void CapturedCalls::begin_file(SpoolOrigin origin) {
  origin_ = std::move(origin);
  texts_ = {""};
}

const std::string& CapturedCalls::text(trace::TextId id) const {
  return texts_[id.id < texts_.size() ? id.id : 0];
}

void CapturedCalls::add(const trace::SpoolBlock& block) {
  if (block.table == trace::Table::strings) {
    texts_.push_back(block.text());
    return;
  }
  Rank& rank = ranks_[{block.rank, origin_.boot, origin_.process}];
  if (rank.origin.state != ProcessState::alive) // a process may have several files
    rank.origin = origin_;
  switch (block.table) {
  case trace::Table::communicator:
    for (const auto& row : block.as<trace::CommunicatorRow>())
      if (row.ranks > 0 && row.ranks <= k_most_ranks_of_one)
        rank.communicators[row.id] = {row.hash, text(row.name), row.ranks, row.rank};
    break;
  case trace::Table::nccl_operation:
    for (const auto& row : block.as<trace::NcclOperationRow>())
      add_operation(rank, row);
    break;
  case trace::Table::nccl_channel:
    for (const auto& row : block.as<trace::NcclChannelRow>())
      add_progress(rank, row);
    break;
  case trace::Table::nccl_open:
    for (const auto& row : block.as<trace::NcclOpenRow>())
      add_look(rank, row);
    break;
  case trace::Table::provenance:
    for (const auto& row : block.as<trace::FactRow>())
      if (text(row.name) == trace::k_level)
        rank.knows_ends = text(row.value) != "operations";
    break;
  default:
    break;
  }
}

void CapturedCalls::add_operation(Rank& rank, const trace::NcclOperationRow& row) {
  Operation operation;
  operation.id = row.id;
  operation.communicator = row.communicator;
  operation.kind = row.kind;
  operation.sequence = row.sequence;
  operation.was_enqueued = row.enqueued_ns != 0;
  Call& call = operation.call;
  call.kind = kind_of(row.kind);
  call.number = row.sequence;
  call.function = function_name(text(row.function));
  call.data_type = type_name(text(row.data_type));
  call.count = row.count;
  call.bytes = row.count * type_bytes(call.data_type);
  call.root = row.root;
  call.peer = row.peer;
  call.algorithm = text(row.algorithm);
  call.protocol = text(row.protocol);
  call.at_ns = static_cast<std::int64_t>(row.enqueue_ns);
  rank.last_ns = std::max({rank.last_ns, row.enqueue_ns, row.enqueued_ns});
  if (row.kind == trace::NcclKind::collective)
    rank.first.try_emplace({row.communicator, call.function}, row.sequence);
  rank.operations.push_back(std::move(operation));
  while (rank.operations.size() > k_most_calls) {
    const Operation& oldest = rank.operations.front();
    if (oldest.kind == trace::NcclKind::collective)
      rank.forgotten[{oldest.communicator, oldest.call.function}] = oldest.sequence + 1;
    rank.progress.erase(oldest.id);
    rank.forgotten_until = std::max(rank.forgotten_until, oldest.id);
    rank.operations.pop_front();
  }
}

void CapturedCalls::add_progress(Rank& rank, const trace::NcclChannelRow& row) {
  rank.last_ns = std::max({rank.last_ns, row.start_ns, row.stop_ns});
  if (row.nccl_operation <= rank.forgotten_until)
    return;
  Progress& progress = rank.progress[row.nccl_operation];
  ++(row.stop_ns == 0 ? progress.open : progress.ended);
  progress.stop_ns = std::max(progress.stop_ns, row.stop_ns);
}

void CapturedCalls::add_look(Rank& rank, const trace::NcclOpenRow& row) {
  rank.last_ns = std::max(rank.last_ns, row.at_ns);
  if (row.nccl_operation <= rank.forgotten_until)
    return;
  Progress& progress = rank.progress[row.nccl_operation];
  progress.looked_ns = std::max(progress.looked_ns, row.at_ns);
  progress.was_running = row.channels > 0;
}

// How often a rank had called a function before the call `anchor`, or before all that is known of
// it.
std::uint64_t CapturedCalls::calls_before(const Rank& other, std::uint16_t communicator,
                                          const std::string& function, const Operation& anchor) {
  const auto kept = other.forgotten.find({communicator, function});
  std::uint64_t count =
      kept != other.forgotten.end() ? kept->second : other.first.at({communicator, function});
  const std::uint64_t first = count;
  for (const Operation& one : other.operations) {
    if (one.communicator != communicator || one.kind != trace::NcclKind::collective)
      continue;
    if (one.call.function == anchor.call.function && one.sequence == anchor.sequence)
      return count;
    if (one.call.function == function)
      count = one.sequence + 1;
  }
  return first;
}

// A capture of the newest operations alone may lack all calls of a function. It is then counted as
// on another rank that has made the first call that is known of this one.
CapturedCalls::Counts CapturedCalls::counts_before(const Rank& rank,
                                                   const std::map<int, Rank*>& all) {
  Counts counts = rank.first;
  for (const auto& [function, count] : rank.forgotten)
    counts[function] = count;
  for (const auto& [id, communicator] : rank.communicators) {
    const auto first = std::ranges::find_if(rank.operations, [own = id](const Operation& one) {
      return one.communicator == own && one.kind == trace::NcclKind::collective;
    });
    if (first == rank.operations.end() || rank.first.at({id, first->call.function}) == 0)
      continue; // nothing is missing
    for (const auto& [number, other] : all)
      for (const auto& [function, ignored] : other->first)
        if (other->communicators[function.first].hash == communicator.hash)
          counts.try_emplace({id, function.second},
                             calls_before(*other, function.first, function.second, *first));
  }
  return counts;
}

// The number of a collective among all of its communicator follows from NCCL's numbers, which count
// each function. So calls that were not recorded shift nothing.
void CapturedCalls::set_positions(Rank& rank, Counts counts) {
  std::map<std::uint16_t, std::uint64_t> all; // by communicator
  for (const auto& [function, count] : counts)
    all[function.first] += count;
  for (Operation& operation : rank.operations) {
    if (operation.kind != trace::NcclKind::collective) {
      operation.call.position = operation.sequence;
      continue;
    }
    std::uint64_t& count = counts[{operation.communicator, operation.call.function}];
    all[operation.communicator] += operation.sequence + 1 - count;
    count = operation.sequence + 1;
    operation.call.position = all[operation.communicator] - 1;
  }
}

void CapturedCalls::set_states(Rank& rank) {
  // NCCL does not report every kind of kernel: of a kind that was never seen nothing is known.
  using Kind = std::tuple<std::uint16_t, std::string, std::string, std::string>;
  auto kind = [](const Operation& one) {
    return Kind{one.communicator, one.call.function, one.call.algorithm, one.call.protocol};
  };
  std::set<Kind> reported;
  std::map<std::uint16_t, std::uint32_t> latest_seen; // on the GPU, by communicator
  for (const Operation& one : rank.operations)
    if (auto found = rank.progress.find(one.id);
        found != rank.progress.end() &&
        (found->second.ended > 0 || found->second.open > 0 || found->second.was_running)) {
      reported.insert(kind(one));
      latest_seen[one.communicator] = one.id;
    }
  const std::uint32_t last = rank.operations.empty() ? 0 : rank.operations.back().id;
  for (Operation& one : rank.operations) {
    const auto found = rank.progress.find(one.id);
    const Progress progress = found == rank.progress.end() ? Progress{} : found->second;
    Call& call = one.call;
    // Kernels of one communicator follow each other; messages of one kernel do not.
    const bool is_past = one.id < latest_seen[one.communicator];
    const bool is_open = (progress.open > 0 || progress.looked_ns > progress.stop_ns) &&
                         (!is_past || call.kind != CallKind::collective);
    if (is_open && (progress.was_running || progress.open > 0))
      call.state = CallState::running;
    else if (progress.ended > 0 || is_past || rank.communicators[one.communicator].size == 1)
      call.state = CallState::ended;
    else if (!one.was_enqueued && one.id == last)
      call.state = CallState::calling;
    else if (rank.knows_ends && reported.contains(kind(one)))
      call.state = CallState::queued;
    if (call.state == CallState::ended)
      call.ended_ns = static_cast<std::int64_t>(progress.stop_ns);
  }
}

std::map<int, CapturedCalls::Rank*> CapturedCalls::newest_ranks(Job& job) {
  std::map<int, Rank*> newest;
  for (auto& [key, rank] : ranks_) {
    if (rank.communicators.empty())
      continue;
    Rank*& place = newest[std::get<int>(key)];
    if (place != nullptr)
      job.remarks.push_back(fmt::format("rank {} has files of several processes: the newest counts",
                                        std::get<int>(key)));
    if (place == nullptr || place->origin.started_ns < rank.origin.started_ns)
      place = &rank;
  }
  return newest;
}

Job CapturedCalls::take() {
  Job job;
  const std::map<int, Rank*> newest = newest_ranks(job);
  std::map<std::uint64_t, std::size_t> group_of;      // by hash
  std::map<std::string, std::int64_t> known_until_ns; // by boot
  for (const auto& [number, rank] : newest) {
    for (const auto& [id, communicator] : rank->communicators) {
      auto [place, is_new] = group_of.emplace(communicator.hash, job.groups.size());
      if (is_new)
        job.groups.push_back(
            {"communicator",
             communicator.name.empty() ? fmt::format("{:x}", communicator.hash) : communicator.name,
             fmt::format("{:016x}", communicator.hash),
             {}});
      Group& group = job.groups[place->second];
      if (group.ranks.size() < static_cast<std::size_t>(communicator.size))
        group.ranks.resize(static_cast<std::size_t>(communicator.size), -1);
      if (communicator.rank >= 0 &&
          static_cast<std::size_t>(communicator.rank) < group.ranks.size())
        group.ranks[static_cast<std::size_t>(communicator.rank)] = number;
    }
    std::int64_t& until_ns = known_until_ns[rank->origin.boot];
    until_ns = std::max({until_ns, static_cast<std::int64_t>(rank->last_ns), rank->origin.now_ns});
  }
  for (const auto& [number, rank] : newest)
    std::ranges::sort(rank->operations, {}, &Operation::id);
  for (const auto& [number, rank] : newest)
    set_positions(*rank, counts_before(*rank, newest));
  for (const auto& [number, rank] : newest) {
    set_states(*rank);
    RankCalls calls{number,
                    rank->origin.host,
                    rank->origin.process,
                    rank->origin.state,
                    rank->origin.here,
                    known_until_ns[rank->origin.boot],
                    {}};
    for (Operation& operation : rank->operations)
      if (auto known = rank->communicators.find(operation.communicator);
          known != rank->communicators.end()) {
        operation.call.group = group_of.at(known->second.hash);
        calls.calls.push_back(std::move(operation.call));
      }
    job.ranks.push_back(std::move(calls));
  }
  ranks_.clear();
  return job;
}

} // namespace ncclprobe::analysis::hang
