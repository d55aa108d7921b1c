// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/bound_schedule.h"

#include "launch/worker/guard_bands.h"

namespace ncclprobe::worker {

using namespace model;

namespace {

constexpr std::size_t k_nobody = static_cast<std::size_t>(-1);
constexpr int k_polls_between_checks =
    256; // querying a communicator for errors costs more than a poll

} // namespace

BoundSchedule::BoundSchedule(const Schedule& schedule, backend::Backend& backend,
                             std::vector<LocalRankState>& local_ranks, const LocalBuffers& buffers,
                             const std::vector<LocalCommunicator*>& communicators,
                             SharedBuffers& shared, TraceRecorder& trace, StepMarks* marks)
    : schedule_(schedule), backend_(backend), ranks_(local_ranks), buffers_(buffers),
      communicators_(communicators), shared_(shared), trace_(trace), marks_(marks),
      timed_streams_(local_ranks.size()) {
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
    for (int index = 0; index < std::ssize(schedule.streams); ++index)
      stream(local_rank, index);
  for (int i = 0; i < std::ssize(schedule.operations); ++i) {
    launches_.emplace_back();
    notes_.push_back(note_of(schedule.operations[i], i));
    binding_timed_ = i >= schedule.timed.first && i < schedule.timed.last;
    bind(schedule.operations[i]);
  }
}

backend::Stream& BoundSchedule::stream(std::size_t local_rank, int index) {
  int priority = schedule_.streams[index].priority;
  auto& slot = ranks_[local_rank].streams[{index, priority}];
  if (!slot)
    slot = ranks_[local_rank].device->open_stream(priority);
  return *slot;
}

backend::Stream& BoundSchedule::used_stream(std::size_t local_rank, int index) {
  backend::Stream& used = stream(local_rank, index);
  if (binding_timed_)
    timed_streams_[local_rank].insert(&used);
  return used;
}

std::vector<backend::Stream*> BoundSchedule::timed_streams(std::size_t local_rank) const {
  return {timed_streams_[local_rank].begin(), timed_streams_[local_rank].end()};
}

backend::Event& BoundSchedule::event(std::size_t local_rank, int index) {
  auto& slot = ranks_[local_rank].events[index];
  if (!slot)
    slot = ranks_[local_rank].device->create_event(backend::EventUse::order);
  return *slot;
}

std::size_t BoundSchedule::local_rank_of(int global_rank) const {
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
    if (ranks_[local_rank].rank == global_rank)
      return local_rank;
  return k_nobody;
}

bool BoundSchedule::takes_part(const Operation& operation, int global_rank) const {
  return names_rank(operation.ranks, global_rank);
}

template <typename Op, typename Enqueue>
void BoundSchedule::bind_communication(const Operation& operation, const Op& op, Enqueue enqueue) {
  LocalCommunicator& local = *communicators_[op.communicator];
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < local.local_ranks.size(); ++i) {
    std::size_t local_rank = local.local_ranks[i];
    if (!takes_part(operation, ranks_[local_rank].rank))
      continue;
    launches.push_back(
        {enqueue(local_rank, *local.members[i], used_stream(local_rank, op.stream)), false});
  }
  for (Launch& launch : launches)
    launch.needs_group = launches.size() > 1 && !in_group_;
  launches_.back() = std::move(launches);
}

backend::Place BoundSchedule::reach(std::size_t local_rank, int global_rank, const Slice& slice) {
  std::size_t owner = local_rank_of(global_rank);
  backend::Buffer& buffer = owner == k_nobody ? shared_.of(local_rank, global_rank, slice.buffer)
                                              : *buffers_[owner][slice.buffer];
  return place_in(buffer, slice, global_rank);
}

void BoundSchedule::bind(const CopyOp& copy) {
  std::size_t local_rank = local_rank_of(copy.driving_rank());
  if (local_rank == k_nobody)
    return;
  backend::CopyCall call{reach(local_rank, copy.from_rank, copy.from),
                         reach(local_rank, copy.to_rank, copy.to), copy.bytes, copy.means};
  backend::Stream& on = used_stream(local_rank, copy.stream);
  on.prepare(call);
  launches_.back().push_back({[&on, call] { on.copy(call); }});
}

void BoundSchedule::bind(const ChaseOp& chase) {
  std::size_t local_rank = local_rank_of(chase.rank);
  if (local_rank == k_nobody)
    return;
  backend::ChaseCall call{reach(local_rank, chase.through_rank, chase.through), chase.bytes,
                          chase.stride_bytes, chase.hops,
                          reach(local_rank, chase.rank, chase.result)};
  backend::Stream& on = used_stream(local_rank, chase.stream);
  on.prepare(call);
  launches_.back().push_back({[&on, call] { on.chase(call); }});
}

void BoundSchedule::bind(const Operation& operation) {
  auto place = [this](std::size_t local_rank, const Slice& slice, int rank) {
    return place_in(*buffers_[local_rank][slice.buffer], slice, rank);
  };
  auto for_each_local_rank = [&](auto make_step) {
    for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
      if (takes_part(operation, ranks_[local_rank].rank))
        launches_.back().push_back({make_step(local_rank)});
  };
  if (const auto* op = std::get_if<CollectiveOp>(&operation.what)) {
    bind_communication(
        operation, *op,
        [&](std::size_t local_rank, backend::Communicator& member, backend::Stream& on) -> Step {
          member.require_support(op->collective, op->type, op->op);
          backend::CollectiveCall call{op->collective,
                                       place(local_rank, op->send, member.rank()),
                                       place(local_rank, op->receive, member.rank()),
                                       op->count,
                                       op->type,
                                       op->op,
                                       op->root};
          return [&member, &on, call] { member.enqueue(call, on); };
        });
  } else if (const auto* send = std::get_if<SendOp>(&operation.what)) {
    bind_communication(
        operation, *send,
        [&](std::size_t local_rank, backend::Communicator& member, backend::Stream& on) -> Step {
          member.require_support(Collective::send_recv, send->type, ReduceOp::sum);
          backend::Place from = place(local_rank, send->from, member.rank());
          int peer = send->to.resolve(member.rank(), member.size());
          std::uint64_t count = send->count.at(member.rank());
          return [&member, &on, from, peer, count, type = send->type] {
            member.send(from, count, type, peer, on);
          };
        });
  } else if (const auto* receive = std::get_if<RecvOp>(&operation.what)) {
    bind_communication(
        operation, *receive,
        [&](std::size_t local_rank, backend::Communicator& member, backend::Stream& on) -> Step {
          member.require_support(Collective::send_recv, receive->type, ReduceOp::sum);
          backend::Place into = place(local_rank, receive->into, member.rank());
          int peer = receive->from.resolve(member.rank(), member.size());
          std::uint64_t count = receive->count.at(member.rank());
          return [&member, &on, into, peer, count, type = receive->type] {
            member.receive(into, count, type, peer, on);
          };
        });
  } else if (const auto* copy = std::get_if<CopyOp>(&operation.what)) {
    bind(*copy);
  } else if (const auto* chase = std::get_if<ChaseOp>(&operation.what)) {
    bind(*chase);
  } else if (const auto* gemm = std::get_if<GemmOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      int rank = ranks_[local_rank].rank;
      backend::GemmCall call{place(local_rank, gemm->a, rank),
                             place(local_rank, gemm->b, rank),
                             place(local_rank, gemm->c, rank),
                             gemm->m,
                             gemm->n,
                             gemm->k,
                             gemm->batch,
                             gemm->type,
                             gemm->layout,
                             gemm->math};
      backend::Stream& on = used_stream(local_rank, gemm->stream);
      on.prepare(call);
      return [&on, call] { on.multiply(call); };
    });
  } else if (const auto* convert = std::get_if<ConvertOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      int rank = ranks_[local_rank].rank;
      backend::ConvertCall call{place(local_rank, convert->from, rank),
                                place(local_rank, convert->into, rank), convert->count,
                                convert->from_type, convert->into_type};
      return [&on = used_stream(local_rank, convert->stream), call] { on.convert(call); };
    });
  } else if (const auto* optimizer = std::get_if<OptimizerOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      int rank = ranks_[local_rank].rank;
      backend::OptimizerCall call{place(local_rank, optimizer->gradients, rank),
                                  place(local_rank, optimizer->weights, rank),
                                  place(local_rank, optimizer->state, rank), optimizer->count,
                                  optimizer->type};
      return [&on = used_stream(local_rank, optimizer->stream), call] { on.optimize(call); };
    });
  } else if (const auto* spin = std::get_if<SpinOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      backend::Stream& on = used_stream(local_rank, spin->stream);
      const std::uint64_t ns = spin->duration_ns;
      if (!spin->is_load)
        return [&on, ns] { on.spin(ns); };
      on.prepare_load();
      return [&on, ns] { on.load(ns); };
    });
  } else if (const auto* record = std::get_if<RecordEventOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      return [&on = used_stream(local_rank, record->stream),
              &what = event(local_rank, record->event)] { on.record(what); };
    });
  } else if (const auto* wait = std::get_if<WaitEventOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      return [&on = used_stream(local_rank, wait->stream), &what = event(local_rank, wait->event)] {
        on.wait(what);
      };
    });
  } else if (const auto* marker = std::get_if<MarkerOp>(&operation.what)) {
    for_each_local_rank([&](std::size_t local_rank) -> Step {
      backend::Stream& on = stream(local_rank, marker->stream);
      const std::string& label = marker->label;
      if (marks_ == nullptr || !binding_timed_)
        return [&on, &label] { on.mark(label); };
      return
          [&on, &label, &lane = marks_->lane(local_rank, static_cast<int>(launches_.size()) - 1)] {
            on.mark(label);
            lane.record(on);
          };
    });
  } else if (const auto* barrier = std::get_if<BarrierOp>(&operation.what)) {
    LocalCommunicator& local = *communicators_[barrier->communicator];
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
    if (i == captured_.first && graph_) {
      OperationNote note = notes_[i];
      note.kind = trace::OperationKind::graph;
      trace_.begin_operation(note);
      graph_->launch();
      trace_.end_operation();
      i = captured_.last - 1;
      continue;
    }
    const std::vector<Launch>& launches = launches_[i];
    if (launches.empty())
      continue;
    bool group = launches.front().needs_group;
    trace_.begin_operation(notes_[i]);
    if (group)
      backend_.group_begin();
    for (const Launch& one : launches)
      one.step();
    if (group)
      backend_.group_end();
    trace_.end_operation();
  }
}

std::optional<double> BoundSchedule::estimate_us(const Region& region) const {
  auto first = static_cast<std::size_t>(region.first);
  if (region.last - region.first != 1 ||
      !std::holds_alternative<CollectiveOp>(schedule_.operations[first].what))
    return std::nullopt;
  return backend_.estimate_us([&] {
    for (const Launch& one : launches_[first])
      one.step();
  });
}

void BoundSchedule::capture() {
  if (!schedule_.capture || schedule_.capture->first == schedule_.capture->last)
    return;
  Region region = *schedule_.capture;
  auto cut_by = [&](int border) { return region.first < border && border < region.last; };
  if (cut_by(schedule_.timed.first) || cut_by(schedule_.timed.last))
    raise(Errc::unsupported,
          "a captured region must be within the timed region, or completely outside it");
  for (int i = region.first; i < region.last; ++i)
    if (std::holds_alternative<BarrierOp>(schedule_.operations[i].what))
      raise(Errc::unsupported, "barriers on the host cannot be captured");
  std::vector<std::vector<backend::Stream*>> streams(ranks_.size());
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
    for (int index = 0; index < std::ssize(schedule_.streams); ++index)
      streams[local_rank].push_back(&stream(local_rank, index));
  trace_.pause(true);
  graph_ = backend_.capture(streams, [&] { launch(region); });
  trace_.pause(false);
  captured_ = region;
}

void BoundSchedule::launch_before() {
  launch({0, schedule_.timed.first});
}
void BoundSchedule::launch_after() {
  launch({schedule_.timed.last, static_cast<int>(schedule_.operations.size())});
}

void BoundSchedule::wait(const std::function<void(std::size_t)>& on_rank_done) {
  std::vector<bool> done(ranks_.size(), false);
  std::size_t left = ranks_.size();
  for (int polls = 1; left > 0; ++polls) {
    for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
      if (done[local_rank])
        continue;
      bool idle = true;
      for (int index = 0; index < std::ssize(schedule_.streams); ++index)
        idle = stream(local_rank, index).idle() && idle;
      if (!idle)
        continue;
      done[local_rank] = true;
      --left;
      if (on_rank_done)
        on_rank_done(local_rank);
    }
    if (polls % k_polls_between_checks == 0)
      for (LocalCommunicator* local : communicators_)
        for (auto& member : local->members)
          member->check();
  }
}

} // namespace ncclprobe::worker
