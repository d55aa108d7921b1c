// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/replay_step.h"

#include "base/number_list.h"
#include "base/units.h"
#include "workload/plan.h"
#include "workload/replay_order.h"
#include "workload/schedule_rules.h"
#include "workload/step_cells.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace ncclprobe::workload {

using namespace model;
using base::Errc, base::Error, base::fail, base::Result;

namespace {

constexpr int k_compute_stream = 0;
// Shorter computing is about as long as the pause between two kernels.
constexpr double k_least_compute_ns = 1000;
// Ranks that compute for about as long share one kernel of the schedule.
constexpr double k_same_share = 0.01;
constexpr double k_same_ns = 1000;
// Operations that do the same use different memory up to this size, so that they do not find it in
// caches that the job's would not.
constexpr std::uint64_t k_fresh_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t k_slot_alignment = 256;
// A host launches computing piece by piece. So communication beside it is hidden in part.
constexpr double k_piece_ns = 500'000;
constexpr double k_most_pieces = 8;
// Traces number the operations of a schedule in 16 bits.
constexpr std::size_t k_most_operations = 65'000;

// Places in a buffer that operations of one kind use in turns.
struct Slots {
  std::vector<Slice> send, receive;
  std::size_t next = 0;
};

class ReplayMaker {
public:
  ReplayMaker(const CapturedStep& step, const ReplayScope& scope, std::vector<ReplayOrder> orders)
      : step_(step), scope_(scope), orders_(std::move(orders)) {}

  Result<Schedule> make() {
    declare();
    all_.resize(scope_.kept.size());
    std::iota(all_.begin(), all_.end(), 0);
    acting_ = static_cast<int>(all_.size()) == scope_.world ? std::vector<int>{} : all_;
    for (const ReplayOrder& order : orders_) {
      push(MarkerOp{k_compute_stream, "step"}, acting_);
      if (&order == &orders_.front() && !paced_.empty()) // hosts begin together with the GPUs
        follow(host_stream_, k_compute_stream, paced_);
      places_.clear();
      for (const ReplayUnit& unit : order.units)
        unit.collective ? add_collective(unit) : add_messages(unit);
      finish(order);
    }
    schedule_.timed = {0, static_cast<int>(schedule_.operations.size())};
    for (auto& [buffer, bytes] : used_) {
      PerRank<std::uint64_t>& sizes = schedule_.buffers[static_cast<std::size_t>(buffer)].bytes;
      for (const auto& [rank, size] : bytes)
        sizes.common = std::max(sizes.common, size);
      for (int rank = 0; rank < scope_.world; ++rank)
        if (bytes[rank] < sizes.common)
          sizes.exceptions[rank] = bytes[rank];
    }
    if (schedule_.operations.size() > k_most_operations)
      return fail(Errc::unsupported,
                  "the captured step needs {} operations of a schedule, {} are possible: replay "
                  "fewer ranks",
                  schedule_.operations.size(), k_most_operations);
    return std::move(schedule_);
  }

private:
  bool computes() const { return scope_.parts != StepParts::communication; }
  bool communicates() const { return scope_.parts != StepParts::compute; }

  template <typename Op>
  void push(Op op, std::vector<int> ranks) {
    schedule_.operations.push_back({std::move(op), std::move(ranks)});
  }

  // Every part of a step declares the same, so cells share memory and communicators.
  void declare() {
    schedule_.streams.push_back({"compute", 0});
    for (const ReplayCommunicator& one : communicators()) {
      const CapturedCommunicator& captured =
          step_.communicators[static_cast<std::size_t>(one.captured)];
      const std::string name = fmt::format("{} {}", captured.role, one.captured);
      CommunicatorDecl made{name, one.ranks};
      const bool is_world =
          static_cast<int>(one.ranks.size()) == scope_.world && std::ranges::is_sorted(one.ranks);
      if (is_world)
        made.ranks.clear();
      schedule_.communicators.push_back(std::move(made));
      schedule_.streams.push_back({name, 0});
      schedule_.buffers.push_back({name + " send", 0});
      schedule_.buffers.push_back({name + " receive", 0});
    }
    waited_.assign(communicators().size(), {});
    std::set<int> paced;
    for (const ReplayOrder& order : orders_)
      for (const ReplayUnit& unit : order.units) {
        for (const ReplayCall& call : unit.calls)
          ++uses_[key_of(call.operation)];
        for (const auto& [rank, host] : unit.hosts)
          paced.insert(rank);
      }
    if (!computes() || paced.empty())
      return;
    paced_.assign(paced.begin(), paced.end());
    host_stream_ = static_cast<int>(schedule_.streams.size());
    schedule_.streams.push_back({"host", 0});
  }

  const std::vector<ReplayCommunicator>& communicators() const {
    return orders_.front().communicators;
  }
  const ReplayCommunicator& communicator_at(int index) const {
    return communicators()[static_cast<std::size_t>(index)];
  }

  using Key = std::tuple<int, int, std::uint64_t, DataType, int, int, int>;
  Key key_of(int index) const {
    const CapturedOperation& one = operation(index);
    return {one.communicator,
            static_cast<int>(one.collective),
            one.count,
            one.type,
            one.root,
            one.from,
            one.to};
  }
  const CapturedOperation& operation(int index) const {
    return step_.operations[static_cast<std::size_t>(index)];
  }

  // Room of that many bytes in a buffer, behind what these ranks use of it already.
  Slice room(int buffer, std::uint64_t bytes, const std::vector<int>& ranks) {
    std::uint64_t first = 0;
    for (int rank : ranks)
      first = std::max(first, used_[buffer][rank]);
    const std::uint64_t end =
        first + (bytes + k_slot_alignment - 1) / k_slot_alignment * k_slot_alignment;
    for (int rank : ranks)
      used_[buffer][rank] = end;
    return {buffer, first};
  }

  // The next place for this operation; makes it, with its input and the expected result.
  std::pair<Slice, Slice> place(int index, int communicator) {
    const CapturedOperation& one = operation(index);
    const ReplayCommunicator& within = communicator_at(communicator);
    const bool is_message = one.kind == CapturedKind::message;
    const int size = static_cast<int>(within.ranks.size());
    const BlockCounts blocks = is_message ? BlockCounts{1, 1} : block_counts(one.collective, size);
    const std::uint64_t send_bytes = one.bytes() * static_cast<std::uint64_t>(blocks.send);
    const std::uint64_t receive_bytes = one.bytes() * static_cast<std::uint64_t>(blocks.receive);
    const std::uint64_t fresh = std::max<std::uint64_t>(
        1, k_fresh_bytes / std::max<std::uint64_t>(1, send_bytes + receive_bytes));
    const std::size_t uses = uses_.at(key_of(index)) / (is_message && one.from != one.to ? 2 : 1);
    Slots& slots = slots_[key_of(index)];
    const std::size_t at =
        slots.next++ % std::max<std::size_t>(1, std::min<std::uint64_t>(uses, fresh));
    if (at == slots.send.size()) {
      const int from = within.rank_of(one.from), to = within.rank_of(one.to);
      auto only = [&](int rank) {
        return is_message ? std::vector{within.ranks[static_cast<std::size_t>(rank)]}
                          : within.ranks;
      };
      slots.send.push_back(room(2 * communicator, send_bytes, only(from)));
      slots.receive.push_back(room(2 * communicator + 1, receive_bytes, only(to)));
      add_data(one, communicator, slots.send.back(), slots.receive.back(), only(from), only(to),
               (to - from + size) % size);
    }
    return {slots.send[at], slots.receive[at]};
  }

  void add_data(const CapturedOperation& one, int communicator, Slice send, Slice receive,
                const std::vector<int>& senders, const std::vector<int>& receivers, int distance) {
    if (one.count == 0)
      return;
    if (one.kind == CapturedKind::message) {
      schedule_.fills.push_back({communicator, send, one.count, one.type, ReduceOp::sum,
                                 Collective::all_to_all_v, 0, senders});
      DataCheck check{Collective::all_to_all_v, communicator, receive, one.count, one.type};
      check.distance = distance;
      check.ranks = receivers;
      if (communicates())
        schedule_.checks.push_back(std::move(check));
      return;
    }
    const ReplayCommunicator& within = communicator_at(communicator);
    const int root = has_root(one.collective) ? within.rank_of(one.root) : 0;
    const auto blocks = static_cast<std::uint64_t>(
        block_counts(one.collective, static_cast<int>(within.ranks.size())).send);
    schedule_.fills.push_back(
        {communicator, send, one.count * blocks, one.type, ReduceOp::sum, one.collective, root});
    if (communicates())
      schedule_.checks.push_back(
          {one.collective, communicator, receive, one.count, one.type, ReduceOp::sum, root});
  }

  // The computing of these ranks before a unit. Ranks that compute for about as long share a
  // kernel.
  void compute(std::vector<std::pair<double, int>> of_ranks, const std::string& label) {
    std::erase_if(of_ranks, [](const auto& one) { return one.first < k_least_compute_ns; });
    if (!computes() || of_ranks.empty())
      return;
    std::vector<int> ranks;
    for (const auto& [ns, rank] : of_ranks)
      ranks.push_back(rank);
    std::ranges::sort(ranks);
    push(MarkerOp{k_compute_stream, label, Activity::backward, MarkerEdge::begin}, ranks);
    std::ranges::sort(of_ranks);
    for (std::size_t first = 0, last = 0; first < of_ranks.size(); first = last) {
      const double most =
          std::max(of_ranks[first].first * (1 + k_same_share), of_ranks[first].first + k_same_ns);
      double sum_ns = 0;
      std::vector<int> alike;
      for (; last < of_ranks.size() && of_ranks[last].first <= most; ++last) {
        sum_ns += of_ranks[last].first;
        alike.push_back(of_ranks[last].second);
      }
      const auto ns =
          static_cast<std::uint64_t>(std::llround(sum_ns / static_cast<double>(alike.size())));
      std::ranges::sort(alike);
      const bool is_load = step_.compute == ReplayCompute::gemm;
      push(SpinOp{k_compute_stream, ns, false, is_load}, std::move(alike));
    }
    push(MarkerOp{k_compute_stream, label, Activity::backward, MarkerEdge::end}, ranks);
  }

  // The host of a rank launches its computing in pieces, and each piece runs when it is launched
  // and those before it have ended. What follows waits for the host, too: it makes the next call.
  void compute_paced(double ns, const ReplayUnit::Host& host, int rank, const std::string& label) {
    const std::vector<int> own{rank};
    if (host.waits)
      follow(host_stream_, k_compute_stream, own);
    const int pieces = static_cast<int>(std::clamp(host.ns / k_piece_ns, 1.0, k_most_pieces));
    for (int piece = 0; piece < pieces; ++piece) {
      if (const double part_ns = ns / pieces; part_ns >= k_least_compute_ns)
        compute({{part_ns, rank}}, label);
      if (const double part_ns = host.ns / pieces; part_ns >= k_least_compute_ns)
        push(SpinOp{host_stream_, static_cast<std::uint64_t>(std::llround(part_ns)), true}, own);
      follow(k_compute_stream, host_stream_, own);
    }
  }

  // `follower` goes on when `leader` has come here.
  void follow(int follower, int leader, const std::vector<int>& ranks) {
    push(RecordEventOp{leader, events_}, ranks);
    push(WaitEventOp{follower, events_++}, ranks);
  }

  void begin_unit(const ReplayUnit& unit, const std::vector<int>& ranks, int stream,
                  const std::string& label) {
    std::vector<std::pair<double, int>> computing;
    for (const auto& [rank, ns] : unit.compute_ns)
      if (const auto host = unit.hosts.find(rank); computes() && host != unit.hosts.end())
        compute_paced(ns, host->second, rank, "before " + label);
      else
        computing.emplace_back(ns, rank);
    compute(std::move(computing), "before " + label);
    if (!communicates())
      return;
    follow(stream, k_compute_stream, ranks);
    push(MarkerOp{stream, label, Activity::communication, MarkerEdge::begin}, ranks);
  }

  void end_unit(const ReplayUnit& unit, const std::vector<int>& ranks, int stream,
                const std::string& label) {
    push(MarkerOp{stream, label, Activity::communication, MarkerEdge::end}, ranks);
    std::vector<int> waiting, others;
    for (int rank : ranks)
      (unit.waiting.contains(rank) ? waiting : others).push_back(rank);
    if (!waiting.empty())
      follow(k_compute_stream, stream, waiting);
    const auto communicator = static_cast<std::size_t>(stream - 1);
    for (int rank : waiting)
      waited_[communicator][rank] = true;
    for (int rank : others)
      waited_[communicator][rank] = false;
  }

  void add_collective(const ReplayUnit& unit) {
    const int index = unit.calls.front().operation;
    const int communicator = unit.communicator;
    const std::vector<int>& ranks = communicator_at(communicator).ranks;
    const std::string label = replayed_label(step_, index);
    begin_unit(unit, ranks, communicator + 1, label);
    const auto [send, receive] = place(index, communicator);
    if (!communicates())
      return;
    const CapturedOperation& one = operation(index);
    const ReplayCommunicator& within = communicator_at(communicator);
    push(CollectiveOp{one.collective, communicator, communicator + 1, send, receive, one.count,
                      one.type, ReduceOp::sum,
                      has_root(one.collective) ? within.rank_of(one.root) : 0},
         {});
    end_unit(unit, ranks, communicator + 1, label);
  }

  void add_messages(const ReplayUnit& unit) {
    const int communicator = unit.communicator;
    const std::vector<int> ranks{unit.rank};
    const std::string label = replayed_label(step_, unit.calls.front().operation);
    begin_unit(unit, ranks, communicator + 1, label);
    std::vector<Operation> transfers;
    for (const ReplayCall& call : unit.calls)
      add_message(call, communicator, ranks, transfers);
    if (!communicates())
      return;
    const bool is_group = transfers.size() > 1;
    if (is_group)
      push(GroupBeginOp{}, ranks);
    std::ranges::move(transfers, std::back_inserter(schedule_.operations));
    if (is_group)
      push(GroupEndOp{}, ranks);
    end_unit(unit, ranks, communicator + 1, label);
  }

  void add_message(const ReplayCall& call, int communicator, const std::vector<int>& ranks,
                   std::vector<Operation>& transfers) {
    const CapturedOperation& one = operation(call.operation);
    const ReplayCommunicator& within = communicator_at(communicator);
    const int from = within.rank_of(one.from), to = within.rank_of(one.to);
    auto [known, is_new] = places_.try_emplace(call.operation);
    if (is_new)
      known->second = place(call.operation, communicator);
    const auto& [send, receive] = known->second;
    if (call.sends)
      transfers.push_back({SendOp{communicator,
                                  communicator + 1,
                                  send,
                                  one.count,
                                  one.type,
                                  {Peer::Kind::absolute, to}},
                           ranks});
    if (!call.sends || from == to)
      transfers.push_back({RecvOp{communicator,
                                  communicator + 1,
                                  receive,
                                  one.count,
                                  one.type,
                                  {Peer::Kind::absolute, from}},
                           ranks});
  }

  // What is computed behind the last call, and the end of all calls.
  void finish(const ReplayOrder& order) {
    std::vector<std::pair<double, int>> rest;
    for (const auto& [rank, ns] : order.rest_ns)
      if (const auto host = order.rest_host_ns.find(rank);
          computes() && host != order.rest_host_ns.end())
        compute_paced(ns, {host->second, false}, rank, "rest");
      else
        rest.emplace_back(ns, rank);
    compute(std::move(rest), "rest");
    for (std::size_t i = 0; i < waited_.size(); ++i) {
      std::vector<int> ranks;
      for (const auto& [rank, is_waited_for] : waited_[i])
        if (!is_waited_for)
          ranks.push_back(rank);
      if (!ranks.empty())
        follow(k_compute_stream, static_cast<int>(i) + 1, ranks);
    }
    push(MarkerOp{k_compute_stream, "step end"}, acting_);
  }

  const CapturedStep& step_;
  const ReplayScope& scope_;
  std::vector<ReplayOrder> orders_; // of the replayed steps
  Schedule schedule_;
  std::vector<int> all_, acting_;
  std::vector<int> paced_; // ranks with a host
  int host_stream_ = -1;
  std::map<Key, std::size_t> uses_;
  std::map<Key, Slots> slots_;
  std::map<int, std::pair<Slice, Slice>> places_;    // of messages, by operation
  std::map<int, std::map<int, std::uint64_t>> used_; // of buffers, by rank
  std::vector<std::map<int, bool>> waited_;          // by communicator and rank: the last call
  int events_ = 0;
};

} // namespace

std::string replayed_label(const CapturedStep& step, int index) {
  const CapturedOperation& one = step.operations[static_cast<std::size_t>(index)];
  return fmt::format("{}: {} {}", index, to_string(one.collective),
                     base::format_bytes(one.bytes()));
}

Result<Schedule> make_replay_step(const CapturedStep& step, const ReplayScope& scope) {
  std::vector<ReplayOrder> orders;
  for (int number = 0; number < std::max(1, step.replayed_steps); ++number) {
    NCCLPROBE_TRY_ASSIGN(ReplayOrder order, replay_order(step, scope.kept, number));
    orders.push_back(std::move(order));
  }
  NCCLPROBE_TRY_ASSIGN(Schedule schedule, ReplayMaker(step, scope, std::move(orders)).make());
  NCCLPROBE_TRY(check_schedule(schedule, scope.world));
  return schedule;
}

Result<std::vector<int>> ranks_to_replay(const CapturedStep& step, int world,
                                         const std::optional<std::vector<int>>& wanted) {
  if (!wanted) {
    std::vector<int> first = step.ranks;
    first.resize(std::min(first.size(), static_cast<std::size_t>(world)));
    return first;
  }
  for (int rank : *wanted)
    if (std::ranges::find(step.ranks, rank) == step.ranks.end())
      return fail(Errc::invalid_argument, "rank {} was not captured: the capture has ranks {}",
                  rank, base::format_number_list(step.ranks));
  if (wanted->size() > static_cast<std::size_t>(world))
    return fail(Error{Errc::invalid_argument,
                      fmt::format("{} captured ranks are to be replayed, but this run has {}",
                                  wanted->size(), world),
                      "name fewer, or start more ranks"});
  return *wanted;
}

std::vector<std::string> lost_by(const CapturedStep& step, const std::vector<int>& kept) {
  std::size_t smaller = 0, alone = 0;
  for (const CapturedCommunicator& one : step.communicators) {
    const auto members = std::ranges::count_if(
        one.ranks, [&](int rank) { return std::ranges::find(kept, rank) != kept.end(); });
    if (members == 1 && one.size > 1)
      ++alone;
    else if (members > 1 && members < one.size)
      ++smaller;
  }
  std::vector<std::string> lost;
  if (kept.size() < step.ranks.size())
    lost.push_back(fmt::format("{} ranks were captured, and these are replayed: {}",
                               step.ranks.size(), base::format_number_list(kept)));
  if (smaller > 0)
    lost.push_back(fmt::format("communicators with fewer ranks than in the job, and as many bytes "
                               "per rank: {} of {}",
                               smaller, step.communicators.size()));
  if (alone > 0)
    lost.push_back(fmt::format("communicators with one rank left, which communicate nothing: {} of "
                               "{}",
                               alone, step.communicators.size()));
  return lost;
}

Result<std::vector<Cell>> make_replay_cells(const CapturedStep& step, const std::vector<int>& kept,
                                            int world, const Timing& timing,
                                            std::int64_t deadline_ns,
                                            std::optional<std::uint64_t> bytes) {
  StepLabel label;
  label.options.pattern = StepPattern::replay;
  label.options.optimizer = false;
  label.model = step.path;
  label.ranks.resize(kept.size());
  std::iota(label.ranks.begin(), label.ranks.end(), 0);
  std::vector<Cell> cells;
  for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication}) {
    if (parts != StepParts::all && kept.size() == 1)
      continue;
    Cell cell;
    NCCLPROBE_TRY_ASSIGN(cell.schedule, make_replay_step(step, {world, kept, parts}));
    std::uint64_t most = 0;
    for (int rank = 0; rank < static_cast<int>(kept.size()); ++rank)
      most = std::max(most, given_bytes(cell.schedule, rank, world));
    label.parts = parts;
    cell.label = {.what = label,
                  .bytes = most,
                  .type = step.operations.empty() ? DataType::f32 : step.operations.front().type};
    cell.timing = timing;
    cell.timing.mode = TimingMode::steps;
    // A launch is all replayed steps.
    for (int* launches : {&cell.timing.iterations, &cell.timing.warmups})
      *launches = std::min(*launches, std::max(1, *launches / std::max(1, step.replayed_steps)));
    cell.deadline_ns = deadline_ns;
    cells.push_back(std::move(cell));
  }
  if (const std::uint64_t needed = peak_bytes(cells); bytes && needed > *bytes)
    return fail(Errc::unsupported, "the replay needs {:.1f} GiB of buffers, {:.1f} GiB are free",
                static_cast<double>(needed) / (1 << 30), static_cast<double>(*bytes) / (1 << 30));
  return cells;
}

} // namespace ncclprobe::workload
