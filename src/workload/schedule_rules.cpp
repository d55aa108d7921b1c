// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/schedule_rules.h"

#include "model/data_pattern.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace ncclprobe::workload {
namespace {

using namespace model;

// Checks one schedule, operation by operation.
class Checker {
public:
  Checker(const Schedule& schedule, int world_size) : schedule_(schedule), world_(world_size) {
    for (const CommunicatorDecl& one : schedule.communicators)
      members_.push_back(members_of(one, world_size));
  }

  Result<void> run() {
    NCCLPROBE_TRY(check_communicators());
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
      position_ = static_cast<int>(i);
      const Operation& operation = schedule_.operations[i];
      for (int rank : operation.ranks)
        if (rank < 0 || rank >= world_)
          return wrong("names rank {} of {}", rank, world_);
      NCCLPROBE_TRY(std::visit([&](const auto& what) { return check(what, operation.ranks); },
                               operation.what));
    }
    if (in_group_)
      return fail(Errc::invalid_argument, "a group is begun and never ended");
    for (const auto& [key, sends] : pending_sends_)
      if (!sends.empty())
        return fail(Errc::invalid_argument,
                    "a send from rank {} to rank {} of communicator {} has no receive",
                    std::get<1>(key), std::get<2>(key), std::get<0>(key));
    NCCLPROBE_TRY(check_region(schedule_.timed, "timed"));
    if (schedule_.capture)
      NCCLPROBE_TRY(check_region(*schedule_.capture, "capture"));
    return check_data();
  }

private:
  template <typename... Args>
  tl::unexpected<Error> wrong(fmt::format_string<Args...> text, Args&&... args) {
    return fail(Errc::invalid_argument, "operation {} {}", position_,
                fmt::format(text, std::forward<Args>(args)...));
  }

  Result<void> check_communicators() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::vector<int> sorted = members_[i];
      std::ranges::sort(sorted);
      bool repeats = std::ranges::adjacent_find(sorted) != sorted.end();
      if (repeats || sorted.front() < 0 || sorted.back() >= world_)
        return fail(Errc::invalid_argument, "communicator {} has a rank twice or outside 0..{}", i,
                    world_ - 1);
      NCCLPROBE_TRY(check_parent(static_cast<int>(i)));
    }
    return {};
  }

  Result<void> check_parent(int index) {
    int parent = schedule_.communicators[index].parent;
    if (parent < 0)
      return {};
    if (parent >= index)
      return fail(Errc::invalid_argument, "communicator {} is split off {}, which is not before it",
                  index, parent);
    const auto& of_parent = members_[parent];
    for (int rank : members_[index])
      if (std::ranges::find(of_parent, rank) == of_parent.end())
        return fail(Errc::invalid_argument,
                    "communicator {} is split off {}, which does not have rank {}", index, parent,
                    rank);
    return {};
  }

  Result<void> check_stream(int stream) {
    if (stream < 0 || stream >= std::ssize(schedule_.streams))
      return wrong("names stream {}", stream);
    return {};
  }

  Result<void> check_slice(const Slice& slice, int rank, int global_rank, std::uint64_t bytes) {
    if (slice.buffer < 0 || slice.buffer >= std::ssize(schedule_.buffers))
      return wrong("names buffer {}", slice.buffer);
    const BufferDecl& buffer = schedule_.buffers[slice.buffer];
    std::uint64_t size = buffer.bytes.at(global_rank);
    std::uint64_t first = slice.offset(rank);
    if (first > size || bytes > size - first)
      return wrong("reaches byte {} of buffer '{}', which has {} on rank {}", first + bytes,
                   buffer.name, size, global_rank);
    return {};
  }

  Result<const std::vector<int>*> communicator(int index) {
    if (index < 0 || index >= std::ssize(members_))
      return wrong("names communicator {}", index);
    return &members_[index];
  }

  Result<void> check(const CollectiveOp& op, const std::vector<int>& ranks) {
    NCCLPROBE_TRY(check_stream(op.stream));
    NCCLPROBE_TRY_ASSIGN(const std::vector<int>* members, communicator(op.communicator));
    if (!is_one_call(op.collective))
      return wrong("writes {} as one collective", to_string(op.collective));
    int n = static_cast<int>(members->size());
    if (has_root(op.collective) && (op.root < 0 || op.root >= n))
      return wrong("has root {} of {} ranks", op.root, n);
    BlockCounts blocks = block_counts(op.collective, n);
    std::uint64_t block = op.count * size_bytes(op.type);
    for (int rank = 0; rank < n; ++rank) {
      int global = (*members)[rank];
      if (!ranks.empty() && std::ranges::find(ranks, global) == ranks.end())
        return wrong("leaves rank {} out of a collective of its communicator", global);
      bool at_root = rank == op.root;
      bool sends = op.collective != Collective::broadcast && op.collective != Collective::scatter;
      bool receives = op.collective != Collective::reduce && op.collective != Collective::gather;
      if (sends || at_root)
        NCCLPROBE_TRY(
            check_slice(op.send, rank, global, block * static_cast<std::uint64_t>(blocks.send)));
      if (receives || at_root)
        NCCLPROBE_TRY(check_slice(op.receive, rank, global,
                                  block * static_cast<std::uint64_t>(blocks.receive)));
    }
    return {};
  }

  // Ranks of the communicator that take part in a send or receive.
  std::vector<int> participants(const std::vector<int>& members, const std::vector<int>& ranks) {
    std::vector<int> taking_part;
    for (std::size_t rank = 0; rank < members.size(); ++rank)
      if (ranks.empty() || std::ranges::find(ranks, members[rank]) != ranks.end())
        taking_part.push_back(static_cast<int>(rank));
    return taking_part;
  }

  using Transfer = std::pair<std::uint64_t, DataType>; // count, type
  using Pair = std::tuple<int, int, int>;              // communicator, from, to

  // A transfer matches the oldest unmatched one of the other side.
  Result<void> match(std::map<Pair, std::deque<Transfer>>& others,
                     std::map<Pair, std::deque<Transfer>>& own, const Pair& pair,
                     const Transfer& transfer) {
    auto& waiting = others[pair];
    if (waiting.empty()) {
      own[pair].push_back(transfer);
      return {};
    }
    if (waiting.front() != transfer)
      return wrong("does not match its other side between ranks {} and {}: {} elements of {} "
                   "against {} of {}",
                   std::get<1>(pair), std::get<2>(pair), transfer.first, to_string(transfer.second),
                   waiting.front().first, to_string(waiting.front().second));
    waiting.pop_front();
    return {};
  }

  Result<void> check_peer(int peer, std::size_t size) {
    if (peer < 0 || peer >= static_cast<int>(size))
      return wrong("names peer {} of {} ranks", peer, size);
    return {};
  }

  Result<void> check(const SendOp& op, const std::vector<int>& ranks) {
    NCCLPROBE_TRY(check_stream(op.stream));
    NCCLPROBE_TRY_ASSIGN(const std::vector<int>* members, communicator(op.communicator));
    for (int rank : participants(*members, ranks)) {
      int peer = op.to.resolve(rank, static_cast<int>(members->size()));
      NCCLPROBE_TRY(check_peer(peer, members->size()));
      std::uint64_t count = op.count.at(rank);
      NCCLPROBE_TRY(check_slice(op.from, rank, (*members)[rank], count * size_bytes(op.type)));
      NCCLPROBE_TRY(match(pending_receives_, pending_sends_, {op.communicator, rank, peer},
                          {count, op.type}));
    }
    return {};
  }

  Result<void> check(const RecvOp& op, const std::vector<int>& ranks) {
    NCCLPROBE_TRY(check_stream(op.stream));
    NCCLPROBE_TRY_ASSIGN(const std::vector<int>* members, communicator(op.communicator));
    for (int rank : participants(*members, ranks)) {
      int peer = op.from.resolve(rank, static_cast<int>(members->size()));
      NCCLPROBE_TRY(check_peer(peer, members->size()));
      std::uint64_t count = op.count.at(rank);
      NCCLPROBE_TRY(check_slice(op.into, rank, (*members)[rank], count * size_bytes(op.type)));
      NCCLPROBE_TRY(match(pending_sends_, pending_receives_, {op.communicator, peer, rank},
                          {count, op.type}));
    }
    return {};
  }

  Result<void> check(const CopyOp& op, const std::vector<int>&) {
    NCCLPROBE_TRY(check_stream(op.stream));
    for (int rank : {op.from_rank, op.to_rank})
      if (rank < 0 || rank >= world_)
        return wrong("names rank {} of {}", rank, world_);
    NCCLPROBE_TRY(check_slice(op.from, op.from_rank, op.from_rank, op.bytes));
    return check_slice(op.to, op.to_rank, op.to_rank, op.bytes);
  }

  Result<void> check(const ChaseOp& op, const std::vector<int>&) {
    NCCLPROBE_TRY(check_stream(op.stream));
    for (int rank : {op.rank, op.through_rank})
      if (rank < 0 || rank >= world_)
        return wrong("names rank {} of {}", rank, world_);
    constexpr std::uint64_t pointer_bytes = sizeof(std::uint64_t);
    if (op.stride_bytes < pointer_bytes || op.stride_bytes % pointer_bytes != 0 || op.bytes == 0 ||
        op.bytes % op.stride_bytes != 0)
      return wrong("has a chain of {} bytes in steps of {}", op.bytes, op.stride_bytes);
    NCCLPROBE_TRY(check_slice(op.through, op.through_rank, op.through_rank, op.bytes));
    return check_slice(op.result, op.rank, op.rank, pointer_bytes);
  }

  // Slices of operations without a communicator: the rank is the global one.
  Result<void> check_global(const Slice& slice, std::uint64_t bytes,
                            const std::vector<int>& ranks) {
    for (int rank = 0; rank < world_; ++rank)
      if (names_rank(ranks, rank))
        NCCLPROBE_TRY(check_slice(slice, rank, rank, bytes));
    return {};
  }

  Result<void> check_computed(DataType type) {
    if (type != DataType::f32 && type != DataType::f16 && type != DataType::bf16)
      return wrong("computes with {}: only f32, f16 and bf16 are possible", to_string(type));
    return {};
  }

  Result<void> check(const GemmOp& op, const std::vector<int>& ranks) {
    NCCLPROBE_TRY(check_stream(op.stream));
    NCCLPROBE_TRY(check_computed(op.type));
    if (op.m == 0 || op.n == 0 || op.k == 0 || op.batch == 0)
      return wrong("multiplies nothing: m={} n={} k={} batch={}", op.m, op.n, op.k, op.batch);
    std::uint64_t of_all = op.batch * size_bytes(op.type);
    NCCLPROBE_TRY(check_global(op.a, op.m * op.k * of_all, ranks));
    NCCLPROBE_TRY(check_global(op.b, op.k * op.n * of_all, ranks));
    return check_global(op.c, op.m * op.n * of_all, ranks);
  }

  Result<void> check(const ConvertOp& op, const std::vector<int>& ranks) {
    NCCLPROBE_TRY(check_stream(op.stream));
    NCCLPROBE_TRY(check_computed(op.from_type));
    NCCLPROBE_TRY(check_computed(op.into_type));
    NCCLPROBE_TRY(check_global(op.from, op.count * size_bytes(op.from_type), ranks));
    return check_global(op.into, op.count * size_bytes(op.into_type), ranks);
  }

  Result<void> check(const OptimizerOp& op, const std::vector<int>& ranks) {
    NCCLPROBE_TRY(check_stream(op.stream));
    NCCLPROBE_TRY(check_computed(op.type));
    std::uint64_t bytes = op.count * size_bytes(op.type);
    NCCLPROBE_TRY(check_global(op.gradients, bytes, ranks));
    NCCLPROBE_TRY(check_global(op.weights, bytes, ranks));
    return check_global(op.state, 2 * op.count * size_bytes(DataType::f32), ranks);
  }

  Result<void> check(const SpinOp& op, const std::vector<int>&) { return check_stream(op.stream); }
  Result<void> check(const MarkerOp& op, const std::vector<int>&) {
    return check_stream(op.stream);
  }
  Result<void> check(const RecordEventOp& op, const std::vector<int>&) {
    recorded_.insert(op.event);
    return check_stream(op.stream);
  }
  Result<void> check(const WaitEventOp& op, const std::vector<int>&) {
    if (!recorded_.contains(op.event))
      return wrong("waits for event {}, which nothing records before it", op.event);
    return check_stream(op.stream);
  }
  Result<void> check(const BarrierOp& op, const std::vector<int>& ranks) {
    if (in_group_)
      return wrong("puts a barrier inside a group");
    if (!ranks.empty())
      return wrong("leaves ranks out of a barrier: use a communicator of the ranks that take part");
    NCCLPROBE_TRY(communicator(op.communicator));
    return {};
  }
  Result<void> check(const GroupBeginOp&, const std::vector<int>&) {
    if (in_group_)
      return wrong("begins a group inside a group");
    in_group_ = true;
    return {};
  }
  Result<void> check(const GroupEndOp&, const std::vector<int>&) {
    if (!in_group_)
      return wrong("ends a group that was not begun");
    in_group_ = false;
    return {};
  }

  Result<void> check_region(const Region& region, const char* name) {
    int size = static_cast<int>(schedule_.operations.size());
    if (region.first < 0 || region.last > size || region.first >= region.last)
      return fail(Errc::invalid_argument, "the {} region [{}, {}) is not within {} operations",
                  name, region.first, region.last, size);
    int depth = 0;
    for (int i = region.first; i < region.last; ++i) {
      const auto& what = schedule_.operations[i].what;
      depth += std::holds_alternative<GroupBeginOp>(what) ? 1
               : std::holds_alternative<GroupEndOp>(what) ? -1
                                                          : 0;
      if (depth < 0)
        break;
    }
    if (depth != 0)
      return fail(Errc::invalid_argument, "the {} region cuts a group", name);
    return {};
  }

  // For a fill or check: k_all_ranks needs no communicator.
  Result<std::vector<int>> data_ranks(int index, const std::vector<int>& named) {
    for (int rank : named)
      if (rank < 0 || rank >= world_)
        return fail(Errc::invalid_argument, "data of rank {} of {}", rank, world_);
    if (index == k_all_ranks)
      return members_of({}, world_);
    NCCLPROBE_TRY_ASSIGN(const std::vector<int>* members, communicator(index));
    return *members;
  }

  Result<void> check_data() {
    for (const Fill& fill : schedule_.fills) {
      NCCLPROBE_TRY_ASSIGN(const std::vector<int> members,
                           data_ranks(fill.communicator, fill.ranks));
      for (std::size_t rank = 0; rank < members.size(); ++rank)
        if (names_rank(fill.ranks, members[rank]))
          NCCLPROBE_TRY(check_slice(fill.slice, static_cast<int>(rank), members[rank],
                                    fill.count * size_bytes(fill.type)));
    }
    for (const DataCheck& one : schedule_.checks) {
      NCCLPROBE_TRY_ASSIGN(const std::vector<int> members, data_ranks(one.communicator, one.ranks));
      int n = static_cast<int>(members.size());
      for (int rank = 0; rank < n; ++rank) {
        int global = members[rank];
        if (!names_rank(one.ranks, global))
          continue;
        auto expected = expectation_for(one.collective, one.op, one.root, one.count, rank, n,
                                        {one.distance, one.first_index});
        NCCLPROBE_TRY(check_slice(one.slice, rank, global, expected.count * size_bytes(one.type)));
      }
    }
    return {};
  }

  const Schedule& schedule_;
  int world_;
  std::vector<std::vector<int>> members_; // by communicator
  int position_ = 0;
  bool in_group_ = false;
  std::set<int> recorded_; // events
  std::map<Pair, std::deque<Transfer>> pending_sends_;
  std::map<Pair, std::deque<Transfer>> pending_receives_;
};

} // namespace

std::vector<int> members_of(const CommunicatorDecl& communicator, int world_size) {
  if (!communicator.ranks.empty())
    return communicator.ranks;
  std::vector<int> all(world_size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Result<void> check_schedule(const Schedule& schedule, int world_size) {
  if (world_size < 1)
    return fail(Errc::invalid_argument, "a schedule needs at least one rank");
  return Checker(schedule, world_size).run();
}

} // namespace ncclprobe::workload
