// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/schedule_messages.h"

#include "workload/schedule_rules.h"

#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace ncclprobe::analysis {

using namespace model;

namespace {

class Reader {
public:
  Reader(const Schedule& schedule, int world_size) : schedule_(schedule) {
    for (const CommunicatorDecl& one : schedule.communicators)
      members_.push_back(workload::members_of(one, world_size));
  }

  std::vector<MessageSide> read() {
    for (int i = schedule_.timed.first; i < schedule_.timed.last; ++i) {
      const Operation& operation = schedule_.operations[static_cast<std::size_t>(i)];
      if (std::holds_alternative<GroupBeginOp>(operation.what))
        group_begin_ = out_.size();
      else if (std::holds_alternative<GroupEndOp>(operation.what))
        end_group(i);
      else if (const auto* send = std::get_if<SendOp>(&operation.what))
        add(*send, send->to, true, operation, i);
      else if (const auto* receive = std::get_if<RecvOp>(&operation.what))
        add(*receive, receive->from, false, operation, i);
    }
    return std::move(out_);
  }

private:
  template <typename Op>
  void add(const Op& op, const Peer& other, bool sends, const Operation& operation, int index) {
    if (op.communicator < 0 || static_cast<std::size_t>(op.communicator) >= members_.size())
      return;
    const std::vector<int>& members = members_[static_cast<std::size_t>(op.communicator)];
    const int size = static_cast<int>(members.size());
    for (int member = 0; member < size; ++member) {
      const int rank = members[static_cast<std::size_t>(member)];
      const int peer = other.resolve(member, size);
      const std::uint64_t bytes = op.count.at(member) * size_bytes(op.type);
      if (bytes == 0 || peer < 0 || peer >= size || !names_rank(operation.ranks, rank))
        continue;
      const int peer_rank = members[static_cast<std::size_t>(peer)];
      MessageSide side{.operation = index,
                       .launched_with = index,
                       .stream = op.stream,
                       .communicator = op.communicator,
                       .rank = rank,
                       .from = sends ? rank : peer_rank,
                       .to = sends ? peer_rank : rank,
                       .bytes = bytes,
                       .sends = sends};
      side.number = seen_[{side.communicator, side.from, side.to, sends}]++;
      out_.push_back(side);
    }
  }

  void end_group(int index) {
    for (std::size_t i = group_begin_.value_or(out_.size()); i < out_.size(); ++i)
      out_[i].launched_with = index;
    group_begin_.reset();
  }

  const Schedule& schedule_;
  std::vector<std::vector<int>> members_;
  std::optional<std::size_t> group_begin_; // in out_
  std::map<std::tuple<int, int, int, bool>, std::uint32_t> seen_;
  std::vector<MessageSide> out_;
};

} // namespace

std::vector<MessageSide> message_sides(const Schedule& schedule, int world_size) {
  return Reader(schedule, world_size).read();
}

MessagesByLaunch messages_by_launch(const Schedule& schedule,
                                    const std::vector<MessageSide>& sides) {
  auto launch_of = [&](const MessageSide& side) {
    const auto& captured = schedule.capture;
    return captured && side.operation >= captured->first && side.operation < captured->last
               ? captured->first
               : side.launched_with;
  };
  MessagesByLaunch out;
  std::map<std::pair<int, int>, int> stream_of;
  std::set<std::pair<int, int>> not_known;
  for (const MessageSide& side : sides) {
    const std::pair launch{launch_of(side), side.rank};
    if (stream_of.try_emplace(launch, side.stream).first->second != side.stream)
      not_known.insert(launch);
    auto& kernels = out[launch];
    if (kernels.empty() || kernels.back().back().launched_with != side.launched_with)
      kernels.emplace_back();
    kernels.back().push_back(side);
  }
  for (const auto& launch : not_known)
    out.erase(launch);
  return out;
}

} // namespace ncclprobe::analysis
