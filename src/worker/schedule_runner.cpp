// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/schedule_runner.h"

#include "worker/bound_schedule.h"
#include "worker/stopping_rule.h"
#include "workload/schedule_rules.h"

#include <algorithm>
#include <optional>

namespace ncclprobe::worker {

using namespace model;
using base::Errc;

struct ScheduleRunner::Impl {
  backend::Backend& backend;
  std::vector<std::unique_ptr<backend::Device>> devices; // before what lives on them
  std::vector<SeatState> seats;
  int world_size;
  std::uint64_t seed;
  backend::Rendezvous& rendezvous;
  std::map<std::vector<int>, LocalCommunicator> communicators; // by global ranks; dies first

  LocalCommunicator& communicator(const std::vector<int>& ranks) {
    auto found = communicators.find(ranks);
    if (found != communicators.end())
      return found->second;
    LocalCommunicator local;
    local.ranks = ranks;
    std::vector<backend::Member> members;
    for (std::size_t seat = 0; seat < seats.size(); ++seat) {
      auto at = std::find(ranks.begin(), ranks.end(), seats[seat].rank);
      if (at == ranks.end())
        continue;
      members.push_back(
          {seats[seat].rank, static_cast<int>(at - ranks.begin()), seats[seat].device});
      local.seats.push_back(seat);
    }
    std::string key = fmt::format("communicator {}", communicators.size());
    if (!members.empty())
      local.members = backend.connect(key, ranks, members, rendezvous);
    return communicators.emplace(ranks, std::move(local)).first->second;
  }

  LocalCommunicator& world() { return communicator(workload::members_of({}, world_size)); }

  double agree_on_largest(double value) {
    std::vector<backend::Communicator*> members;
    for (auto& member : world().members)
      members.push_back(member.get());
    return backend.max_over_ranks(members, value);
  }

  void make_room(const Schedule& schedule) {
    for (SeatState& seat : seats) {
      if (seat.buffers.size() < schedule.buffers.size())
        seat.buffers.resize(schedule.buffers.size());
      for (std::size_t i = 0; i < schedule.buffers.size(); ++i) {
        std::uint64_t bytes = schedule.buffers[i].bytes.at(seat.rank);
        auto& slot = seat.buffers[i];
        if (slot && slot->size_bytes() >= bytes)
          continue;
        slot.reset(); // free the old one before asking for more
        slot = seat.device->allocate(bytes);
      }
    }
  }

  int rank_in(const LocalCommunicator& local, std::size_t i) const {
    return local.members[i]->rank();
  }

  LocalCommunicator& communicator_of(const Schedule& schedule, int index) {
    const auto& declared = schedule.communicators[static_cast<std::size_t>(index)];
    return communicator(workload::members_of(declared, world_size));
  }

  // Poisons every buffer, then writes the inputs.
  void fill(const Schedule& schedule) {
    for (SeatState& seat : seats)
      for (std::size_t i = 0; i < schedule.buffers.size(); ++i)
        seat.buffers[i]->poison();
    for (const Fill& fill : schedule.fills) {
      LocalCommunicator& local = communicator_of(schedule, fill.communicator);
      auto size = static_cast<int>(local.ranks.size());
      Pattern pattern = pattern_for(seed, fill.collective, fill.type, fill.op, size);
      bool only_root =
          fill.collective == Collective::broadcast || fill.collective == Collective::scatter;
      for (std::size_t i = 0; i < local.seats.size(); ++i) {
        int rank = rank_in(local, i);
        if (only_root && rank != fill.root)
          continue;
        auto& buffer = *seats[local.seats[i]].buffers[static_cast<std::size_t>(fill.slice.buffer)];
        buffer.fill(fill.slice.offset(rank), fill.type, pattern, rank, fill.count);
      }
    }
  }

  void compare(const Schedule& schedule, std::vector<CellResult>& results) {
    for (CellResult& result : results)
      result.check.kind = CheckResult::Kind::checked;
    for (const DataCheck& one : schedule.checks) {
      LocalCommunicator& local = communicator_of(schedule, one.communicator);
      auto size = static_cast<int>(local.ranks.size());
      Pattern pattern = pattern_for(seed, one.collective, one.type, one.op, size);
      for (std::size_t i = 0; i < local.seats.size(); ++i) {
        int rank = rank_in(local, i);
        Expectation expected =
            expectation_for(one.collective, one.op, one.root, one.count, rank, size);
        auto& buffer = *seats[local.seats[i]].buffers[static_cast<std::size_t>(one.slice.buffer)];
        backend::Mismatch found =
            buffer.compare(one.slice.offset(rank), one.type, pattern, expected);
        note(results[local.seats[i]], seats[local.seats[i]].rank, one.type, expected, pattern,
             found);
      }
    }
  }

  static void note(CellResult& result, int global_rank, DataType type, const Expectation& expected,
                   const Pattern& pattern, const backend::Mismatch& found) {
    result.check.elements += found.elements;
    result.check.wrong += found.wrong;
    if (found.wrong == 0 || !result.check.first_wrong.empty())
      return;
    result.check.first_wrong = fmt::format("rank {} element {}: bits {:#x} instead of {:#x} ({})",
                                           global_rank, found.first, found.first_bits,
                                           encode(type, expected.value(pattern, type, found.first)),
                                           expected.value(pattern, type, found.first));
    result.outcome = {OutcomeKind::wrong_data,
                      fmt::format("{} of {} elements are wrong; {}", found.wrong, found.elements,
                                  result.check.first_wrong),
                      {global_rank}};
  }

  // Everything that may turn out to be impossible on one rank alone, before any rank waits for
  // another.
  std::optional<base::Error> prepare(const Cell& cell, std::optional<BoundSchedule>& bound,
                                     std::vector<LocalCommunicator*>& locals) {
    try {
      if (!cell.settings.empty())
        base::raise(Errc::unsupported, "the {} backend cannot change {} within a process",
                    backend.name(), cell.settings.front().name);
      base::value_or_throw(workload::check_schedule(cell.schedule, world_size));
      make_room(cell.schedule);
      bound.emplace(cell.schedule, backend, seats, locals);
      return std::nullopt;
    } catch (const base::Exception& error) {
      if (error.error().code != Errc::unsupported && error.error().code != Errc::unavailable)
        throw;
      return error.error();
    }
  }

  // One run of the whole schedule; returns the nanoseconds it took here.
  double run_once(BoundSchedule& bound, const Schedule& schedule) {
    std::int64_t start = backend.now_ns();
    bound.launch_before();
    bound.launch(schedule.timed);
    bound.launch_after();
    bound.wait();
    return static_cast<double>(backend.now_ns() - start);
  }

  void time_batch(BoundSchedule& bound, const Schedule& schedule, int batch, int iterations,
                  std::vector<CellResult>& results) {
    bound.launch_before();
    bound.wait();
    agree_on_largest(0); // all ranks start together
    std::int64_t start = backend.now_ns();
    for (int i = 0; i < iterations; ++i)
      bound.launch(schedule.timed);
    bound.wait([&](std::size_t seat) {
      results[seat].samples.push_back(
          {seats[seat].rank, batch, iterations, backend.now_ns() - start});
    });
    bound.launch_after();
    bound.wait();
  }
};

ScheduleRunner::ScheduleRunner(backend::Backend& backend, std::vector<Seat> seats, int world_size,
                               std::uint64_t seed, backend::Rendezvous& rendezvous)
    : impl_(new Impl{backend, {}, {}, world_size, seed, rendezvous, {}}) {
  for (Seat& seat : seats) {
    SeatState state;
    state.rank = seat.rank;
    state.device = seat.device.get();
    impl_->devices.push_back(std::move(seat.device));
    impl_->seats.push_back(std::move(state));
  }
}

ScheduleRunner::~ScheduleRunner() = default;

void ScheduleRunner::connect_world() {
  impl_->world();
}

std::vector<CellResult> ScheduleRunner::run(const Cell& cell) {
  const Schedule& schedule = cell.schedule;
  std::vector<CellResult> results(impl_->seats.size());
  std::vector<LocalCommunicator*> locals;
  for (int i = 0; i < static_cast<int>(schedule.communicators.size()); ++i)
    locals.push_back(&impl_->communicator_of(schedule, i));

  std::optional<BoundSchedule> bound;
  std::optional<base::Error> problem = impl_->prepare(cell, bound, locals);
  if (impl_->agree_on_largest(problem ? 1 : 0) > 0) {
    for (std::size_t seat = 0; seat < results.size(); ++seat)
      results[seat].outcome =
          problem ? Outcome{OutcomeKind::skipped, problem->text(), {impl_->seats[seat].rank}}
                  : Outcome{OutcomeKind::skipped, "", {}}; // the rank that cannot says why
    return results;
  }

  impl_->fill(schedule);
  impl_->run_once(*bound, schedule); // connections are made on first use: not an estimate
  double iteration_ns = impl_->agree_on_largest(impl_->run_once(*bound, schedule));
  int warmups = remaining_warmups(cell.timing, iteration_ns);
  for (int i = 1; i < warmups; ++i)
    impl_->run_once(*bound, schedule);
  Effort effort = plan_effort(cell.timing, iteration_ns);
  for (int batch = 0; batch < effort.batches; ++batch)
    impl_->time_batch(*bound, schedule, batch, effort.iterations, results);

  if (!impl_->backend.moves_data()) {
    for (CellResult& result : results)
      result.check.why_unchecked =
          fmt::format("the {} backend moves no data", impl_->backend.name());
    return results;
  }
  if (schedule.checks.empty()) {
    for (CellResult& result : results)
      result.check.why_unchecked = "the schedule says nothing of its results";
    return results;
  }
  impl_->fill(schedule);
  impl_->agree_on_largest(0); // no rank may write into a buffer that another still fills
  impl_->run_once(*bound, schedule);
  impl_->agree_on_largest(0); // a rank that leaves early may take its last message with it
  impl_->compare(schedule, results);
  return results;
}

} // namespace ncclprobe::worker
