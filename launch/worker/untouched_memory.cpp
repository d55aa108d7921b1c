// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/untouched_memory.h"

#include "launch/worker/guard_bands.h"
#include "workload/schedule_rules.h"

#include <algorithm>
#include <map>

namespace ncclprobe::worker {

using namespace model;

namespace {

constexpr int k_poison = -1;
constexpr int k_written = -2;

// The contents of one buffer: each key begins a section that ends at the next key.
class Contents {
public:
  explicit Contents(std::uint64_t bytes) : stretches_{{0, k_poison}, {bytes, k_poison}} {}

  void set(std::uint64_t begin, std::uint64_t end, int content) {
    if (begin == end)
      return;
    cut(begin);
    cut(end);
    stretches_.erase(stretches_.lower_bound(begin), stretches_.lower_bound(end));
    stretches_[begin] = content;
  }
  // Calls act(begin, end, content).
  template <typename Act>
  void each(Act act) const {
    for (auto one = stretches_.begin(), next = std::next(one); next != stretches_.end();
         ++one, ++next)
      act(one->first, next->first, one->second);
  }

private:
  void cut(std::uint64_t at) {
    auto after = stretches_.upper_bound(at);
    stretches_.try_emplace(at, std::prev(after)->second);
  }
  std::map<std::uint64_t, int> stretches_;
};

class MemoryMap {
public:
  MemoryMap(const Schedule& schedule, int world_size, int rank) : schedule_(schedule), rank_(rank) {
    for (const BufferDecl& buffer : schedule.buffers)
      buffers_.emplace_back(with_guards(buffer.bytes.at(rank)));
    for (const CommunicatorDecl& declared : schedule.communicators) {
      std::vector<int> members = workload::members_of(declared, world_size);
      auto found = std::ranges::find(members, rank);
      groups_.push_back(
          {found == members.end() ? k_nobody : static_cast<int>(found - members.begin()),
           static_cast<int>(members.size())});
    }
  }

  std::vector<UntouchedRegion> untouched() {
    for (std::size_t i = 0; i < schedule_.fills.size(); ++i)
      fill(schedule_.fills[i], static_cast<int>(i));
    for (const Operation& operation : schedule_.operations)
      if (names_rank(operation.ranks, rank_)) // copies and chases name all of it
        std::visit([this](const auto& what) { write(what); }, operation.what);
    std::vector<UntouchedRegion> regions;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      buffers_[i].each([&](std::uint64_t begin, std::uint64_t end, int content) {
        if (content != k_written)
          regions.push_back({static_cast<int>(i), begin, end, content});
      });
    return regions;
  }

private:
  // This rank's number among the members of a communicator, and how many there are.
  struct Group {
    int rank;
    int size;
  };
  static constexpr int k_nobody = -1;
  const Group& group(int communicator) const { return groups_[communicator]; }

  void set(const Slice& slice, int rank, std::uint64_t bytes, int content) {
    std::uint64_t begin = k_guard_bytes + slice.offset(rank);
    buffers_[slice.buffer].set(begin, begin + bytes, content);
  }

  void fill(const Fill& fill, int index) {
    int rank = fill.communicator == k_all_ranks ? rank_ : group(fill.communicator).rank;
    if (rank != k_nobody && has_input(fill, rank, rank_))
      set(fill.slice, rank, fill.count * size_bytes(fill.type), index);
  }

  void write(const CollectiveOp& op) {
    auto [rank, size] = group(op.communicator);
    bool only_root = op.collective == Collective::reduce || op.collective == Collective::gather;
    if (rank == k_nobody || (only_root && rank != op.root))
      return;
    auto blocks = static_cast<std::uint64_t>(block_counts(op.collective, size).receive);
    set(op.receive, rank, op.count * size_bytes(op.type) * blocks, k_written);
  }
  void write(const RecvOp& op) {
    int rank = group(op.communicator).rank;
    if (rank != k_nobody)
      set(op.into, rank, op.count.at(rank) * size_bytes(op.type), k_written);
  }
  void write(const CopyOp& op) {
    if (op.to_rank == rank_)
      set(op.to, rank_, op.bytes, k_written);
  }
  // The chain is also an input, but no fill describes it.
  void write(const ChaseOp& op) {
    if (op.through_rank == rank_)
      set(op.through, rank_, op.bytes, k_written);
    if (op.rank == rank_)
      set(op.result, rank_, sizeof(std::uint64_t), k_written);
  }
  void write(const GemmOp& op) {
    set(op.c, rank_, op.m * op.n * op.batch * size_bytes(op.type), k_written);
  }
  void write(const ConvertOp& op) {
    set(op.into, rank_, op.count * size_bytes(op.into_type), k_written);
  }
  void write(const OptimizerOp& op) {
    set(op.weights, rank_, op.count * size_bytes(op.type), k_written);
    set(op.state, rank_, 2 * op.count * size_bytes(DataType::f32), k_written);
  }
  template <typename Other>
  void write(const Other&) {}

  const Schedule& schedule_;
  int rank_; // global
  std::vector<Contents> buffers_;
  std::vector<Group> groups_; // by communicator
};

} // namespace

std::vector<UntouchedRegion> untouched_memory(const Schedule& schedule, int world_size,
                                              int global_rank) {
  return MemoryMap(schedule, world_size, global_rank).untouched();
}

} // namespace ncclprobe::worker
