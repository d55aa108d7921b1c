// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/bound_schedule.h"

#include <algorithm>

namespace ncclprobe::worker {

using namespace model;

namespace {

constexpr std::size_t k_nobody = static_cast<std::size_t>(-1);
constexpr int k_polls_between_checks =
    256; // asking a communicator for errors costs more than a poll

} // namespace

BoundSchedule::BoundSchedule(const Schedule& schedule, backend::Backend& backend,
                             std::vector<SeatState>& seats,
                             const std::vector<LocalCommunicator*>& communicators)
    : schedule_(schedule), backend_(backend), seats_(seats), communicators_(communicators) {
  if (schedule.capture)
    base::raise(base::Errc::unsupported, "the {} backend cannot capture a schedule as a graph",
                backend.name());
  for (std::size_t seat = 0; seat < seats_.size(); ++seat)
    for (int index = 0; index < static_cast<int>(schedule.streams.size()); ++index)
      stream(seat, index);
  for (const Operation& operation : schedule.operations) {
    launches_.emplace_back();
    bind(operation);
  }
}

backend::Stream& BoundSchedule::stream(std::size_t seat, int index) {
  int priority = schedule_.streams[static_cast<std::size_t>(index)].priority;
  auto& slot = seats_[seat].streams[{index, priority}];
  if (!slot)
    slot = seats_[seat].device->open_stream(priority);
  return *slot;
}

backend::Event& BoundSchedule::event(std::size_t seat, int index) {
  auto& slot = seats_[seat].events[index];
  if (!slot)
    slot = seats_[seat].device->create_event();
  return *slot;
}

std::size_t BoundSchedule::seat_of(int global_rank) const {
  for (std::size_t seat = 0; seat < seats_.size(); ++seat)
    if (seats_[seat].rank == global_rank)
      return seat;
  return k_nobody;
}

bool BoundSchedule::takes_part(const Operation& operation, int global_rank) const {
  return operation.ranks.empty() || std::find(operation.ranks.begin(), operation.ranks.end(),
                                              global_rank) != operation.ranks.end();
}

template <typename Op, typename Enqueue>
void BoundSchedule::bind_communication(const Operation& operation, const Op& op, Enqueue enqueue) {
  LocalCommunicator& local = *communicators_[static_cast<std::size_t>(op.communicator)];
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < local.seats.size(); ++i) {
    std::size_t seat = local.seats[i];
    if (!takes_part(operation, seats_[seat].rank))
      continue;
    launches.push_back({enqueue(seats_[seat], *local.members[i], stream(seat, op.stream)), false});
  }
  for (Launch& launch : launches)
    launch.needs_group = launches.size() > 1 && !in_group_;
  launches_.back() = std::move(launches);
}

void BoundSchedule::bind(const Operation& operation) {
  auto place = [](SeatState& seat, const Slice& slice, int rank) {
    return backend::Place{*seat.buffers[static_cast<std::size_t>(slice.buffer)],
                          slice.offset(rank)};
  };
  auto for_each_seat = [&](auto make_step) {
    for (std::size_t seat = 0; seat < seats_.size(); ++seat)
      if (takes_part(operation, seats_[seat].rank))
        launches_.back().push_back({make_step(seat)});
  };
  if (const auto* op = std::get_if<CollectiveOp>(&operation.what)) {
    bind_communication(
        operation, *op,
        [&](SeatState& seat, backend::Communicator& member, backend::Stream& on) -> Step {
          backend::CollectiveCall call{op->collective,
                                       place(seat, op->send, member.rank()),
                                       place(seat, op->receive, member.rank()),
                                       op->count,
                                       op->type,
                                       op->op,
                                       op->root};
          return [&member, &on, call] { member.enqueue(call, on); };
        });
  } else if (const auto* send = std::get_if<SendOp>(&operation.what)) {
    bind_communication(
        operation, *send,
        [&](SeatState& seat, backend::Communicator& member, backend::Stream& on) -> Step {
          backend::Place from = place(seat, send->from, member.rank());
          int peer = send->to.resolve(member.rank(), member.size());
          std::uint64_t count = send->count.at(member.rank());
          return [&member, &on, from, peer, count, type = send->type] {
            member.send(from, count, type, peer, on);
          };
        });
  } else if (const auto* receive = std::get_if<RecvOp>(&operation.what)) {
    bind_communication(
        operation, *receive,
        [&](SeatState& seat, backend::Communicator& member, backend::Stream& on) -> Step {
          backend::Place into = place(seat, receive->into, member.rank());
          int peer = receive->from.resolve(member.rank(), member.size());
          std::uint64_t count = receive->count.at(member.rank());
          return [&member, &on, into, peer, count, type = receive->type] {
            member.receive(into, count, type, peer, on);
          };
        });
  } else if (const auto* copy = std::get_if<CopyOp>(&operation.what)) {
    std::size_t from = seat_of(copy->from_rank);
    std::size_t to = seat_of(copy->to_rank);
    if (from == k_nobody && to == k_nobody)
      return;
    if (from == k_nobody || to == k_nobody)
      base::raise(base::Errc::unsupported,
                  "a copy from rank {} to rank {} needs both in one worker", copy->from_rank,
                  copy->to_rank);
    backend::Place source = place(seats_[from], copy->from, copy->from_rank);
    backend::Place target = place(seats_[to], copy->to, copy->to_rank);
    backend::Stream& on = stream(from, copy->stream);
    launches_.back().push_back({[&on, source, target, bytes = copy->bytes] {
      on.copy(source.buffer, source.offset, target.buffer, target.offset, bytes);
    }});
  } else if (const auto* spin = std::get_if<SpinOp>(&operation.what)) {
    for_each_seat([&](std::size_t seat) -> Step {
      return [&on = stream(seat, spin->stream), ns = spin->duration_ns] { on.spin(ns); };
    });
  } else if (const auto* record = std::get_if<RecordEventOp>(&operation.what)) {
    for_each_seat([&](std::size_t seat) -> Step {
      return [&on = stream(seat, record->stream), &what = event(seat, record->event)] {
        on.record(what);
      };
    });
  } else if (const auto* wait = std::get_if<WaitEventOp>(&operation.what)) {
    for_each_seat([&](std::size_t seat) -> Step {
      return
          [&on = stream(seat, wait->stream), &what = event(seat, wait->event)] { on.wait(what); };
    });
  } else if (const auto* marker = std::get_if<MarkerOp>(&operation.what)) {
    for_each_seat([&](std::size_t seat) -> Step {
      return [&on = stream(seat, marker->stream), &label = marker->label] { on.mark(label); };
    });
  } else if (const auto* barrier = std::get_if<BarrierOp>(&operation.what)) {
    LocalCommunicator& local = *communicators_[static_cast<std::size_t>(barrier->communicator)];
    if (local.members.empty())
      return;
    std::vector<backend::Communicator*> members;
    for (auto& member : local.members)
      members.push_back(member.get());
    launches_.back().push_back({[this, members] { backend_.max_over_ranks(members, 0); }});
  } else if (std::holds_alternative<GroupBeginOp>(operation.what)) {
    in_group_ = true;
    launches_.back().push_back({[this] { backend_.group_begin(); }});
  } else {
    in_group_ = false;
    launches_.back().push_back({[this] { backend_.group_end(); }});
  }
}

void BoundSchedule::launch(const Region& region) {
  for (int i = region.first; i < region.last; ++i) {
    const std::vector<Launch>& launches = launches_[static_cast<std::size_t>(i)];
    bool group = !launches.empty() && launches.front().needs_group;
    if (group)
      backend_.group_begin();
    for (const Launch& one : launches)
      one.step();
    if (group)
      backend_.group_end();
  }
}

void BoundSchedule::launch_before() {
  launch({0, schedule_.timed.first});
}
void BoundSchedule::launch_after() {
  launch({schedule_.timed.last, static_cast<int>(schedule_.operations.size())});
}

void BoundSchedule::wait(const std::function<void(std::size_t)>& on_seat_done) {
  std::vector<bool> done(seats_.size(), false);
  std::size_t left = seats_.size();
  for (int polls = 1; left > 0; ++polls) {
    for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
      if (done[seat])
        continue;
      bool idle = true;
      for (int index = 0; index < static_cast<int>(schedule_.streams.size()); ++index)
        idle = stream(seat, index).idle() && idle;
      if (!idle)
        continue;
      done[seat] = true;
      --left;
      if (on_seat_done)
        on_seat_done(seat);
    }
    if (polls % k_polls_between_checks == 0)
      for (LocalCommunicator* local : communicators_)
        for (auto& member : local->members)
          member->check();
  }
}

} // namespace ncclprobe::worker
