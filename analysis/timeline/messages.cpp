// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/messages.h"

#include "base/hash.h"

#include <algorithm>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {

using base::mixed;
using trace::NcclKind;
using trace::OperationKind;

namespace {

class MessageFinder {
public:
  MessageFinder(const RankTrace& trace, int rank, const Activities& activities,
                const Joined& joined, const OperationIndex& operations, const TextTraits& traits,
                const TraceSource& source)
      : trace_(trace), rank_(rank), activities_(activities), joined_(joined),
        operations_(operations), traits_(traits), source_(source),
        has_steps_(!operations.steps().empty()) {}

  MessageHalves find() {
    bool nccl_tells = std::any_of(trace_.nccl_operations.begin(), trace_.nccl_operations.end(),
                                  [](const auto& row) { return row.kind != NcclKind::collective; });
    nccl_tells ? by_nccl() : by_schedule();
    std::stable_sort(out_.all.begin(), out_.all.end(),
                     [](const auto& a, const auto& b) { return a.activity < b.activity; });
    return std::move(out_);
  }

private:
  // Outside the analysed time: between the steps, if there are any.
  bool is_outside(const DeviceActivity& activity) const {
    return has_steps_ && activity.step == k_no_step;
  }

  void by_nccl() {
    std::unordered_map<std::uint16_t, const trace::CommunicatorRow*> communicators;
    for (const auto& row : trace_.communicators)
      communicators[row.id] = &row;
    std::vector<std::uint32_t> activity_of = joined_.activity_of; // + 1
    std::vector<bool> told(activities_.all.size());
    if (activities_.from_nccl)
      for (std::uint32_t i = 0; i < activities_.all.size(); ++i)
        if (std::uint32_t row = activities_.all[i].nccl; row > 0)
          activity_of[row - 1] = i + 1;
    for (std::size_t i = 0; i < trace_.nccl_operations.size(); ++i) {
      const auto& row = trace_.nccl_operations[i];
      auto communicator = communicators.find(row.communicator);
      if (row.kind == NcclKind::collective || communicator == communicators.end())
        continue;
      if (activity_of[i] == 0) {
        out_.without_kernel += !has_steps_ || operations_.step_of(row.operation) != k_no_step;
        continue;
      }
      std::uint32_t activity = activity_of[i] - 1;
      if (is_outside(activities_.all[activity]))
        continue;
      bool sends = row.kind == NcclKind::send;
      auto own = static_cast<std::uint64_t>(communicator->second->rank);
      auto peer = static_cast<std::uint64_t>(row.peer);
      std::uint64_t way = sends ? own << 32 | peer : peer << 32 | own;
      out_.all.push_back({.key = {mixed(communicator->second->hash + mixed(way)), row.sequence},
                          .sends = sends,
                          .amount = row.count,
                          .type = row.data_type.id,
                          .activity = activity,
                          .peer = row.peer,
                          .number = row.sequence});
      told[activity] = true;
    }
    for (std::size_t i = 0; i < activities_.all.size(); ++i)
      out_.kernels_untold += !told[i] && may_send(activities_.all[i]);
  }

  // A kernel of a send, a receive or a group of them.
  bool may_send(const DeviceActivity& activity) const {
    if (activity.kind != Class::communication || is_outside(activity) || activity.nccl > 0)
      return false;
    const trace::OperationRow* row = operations_.find(activity.operation);
    if (row == nullptr || traits_.is_collective(activity.name))
      return false;
    return row->kind == OperationKind::send || row->kind == OperationKind::receive ||
           row->kind == OperationKind::group || row->kind == OperationKind::graph;
  }

  void by_schedule() {
    if (!has_steps_)
      return;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> kernels_of; // by operation
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < activities_.all.size(); ++i) {
      const DeviceActivity& activity = activities_.all[i];
      if (!may_send(activity))
        continue;
      auto& kernels = kernels_of[activity.operation];
      if (kernels.empty())
        order.push_back(activity.operation);
      kernels.push_back(i);
    }
    for (std::uint32_t operation : order) {
      const trace::OperationRow& row = *operations_.find(operation);
      const std::vector<std::uint32_t>& kernels = kernels_of[operation];
      std::vector<DeclaredTransfers> declared;
      if (source_.transfers)
        declared = source_.transfers(row.cell, row.index, rank_);
      if (declared.size() != kernels.size()) { // the assignment is ambiguous
        out_.kernels_untold += kernels.size();
        continue;
      }
      for (std::size_t i = 0; i < kernels.size(); ++i)
        for (const DeclaredTransfer& one : declared[i])
          add(one, row, kernels[i]);
    }
  }

  void add(const DeclaredTransfer& one, const trace::OperationRow& row, std::uint32_t activity) {
    auto half = [](int high, int low) {
      return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 |
             static_cast<std::uint32_t>(low);
    };
    std::uint64_t where = mixed(mixed(mixed(half(row.cell, row.batch)) + half(one.from, one.to)) +
                                static_cast<std::uint64_t>(one.communicator));
    out_.all.push_back({.key = {where, std::uint64_t{row.iteration} << 32 | one.number},
                        .sends = one.sends,
                        .amount = one.bytes,
                        .activity = activity,
                        .peer = one.sends ? one.to : one.from,
                        .number = one.number});
  }

  const RankTrace& trace_;
  int rank_;
  const Activities& activities_;
  const Joined& joined_;
  const OperationIndex& operations_;
  const TextTraits& traits_;
  const TraceSource& source_;
  bool has_steps_;
  MessageHalves out_;
};

} // namespace

MessageHalves message_halves(const RankTrace& trace, int rank, const Activities& activities,
                             const Joined& joined, const OperationIndex& operations,
                             const TextTraits& traits, const TraceSource& source) {
  return MessageFinder(trace, rank, activities, joined, operations, traits, source).find();
}

void MessageTable::add(const MessageHalf& half, Span aligned, int rank) {
  halves_.push_back({.key = half.key,
                     .span = aligned,
                     .amount = half.amount,
                     .type = half.type,
                     .rank = rank,
                     .sends = half.sends});
}

void MessageTable::seal() {
  std::sort(halves_.begin(), halves_.end(), [](const Half& a, const Half& b) {
    return a.key != b.key ? a.key < b.key : a.sends < b.sends;
  });
}

MessageTable::Other MessageTable::other_half(const MessageHalf& half) const {
  auto first = std::lower_bound(halves_.begin(), halves_.end(), half.key,
                                [](const Half& a, const MessageKey& key) { return a.key < key; });
  const Half* other = nullptr;
  std::size_t own = 0, others = 0;
  for (auto at = first; at != halves_.end() && at->key == half.key; ++at) {
    if (at->sends == half.sends) {
      ++own;
    } else {
      ++others;
      other = &*at;
    }
  }
  if (own > 1 || others > 1)
    return {MatchState::repeated, nullptr};
  if (other == nullptr)
    return {MatchState::alone, nullptr};
  if (other->type == half.type && other->amount != half.amount)
    return {MatchState::contradicted, nullptr};
  return {MatchState::matched, other};
}

} // namespace ncclprobe::analysis::timeline
