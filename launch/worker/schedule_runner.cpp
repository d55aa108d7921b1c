// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/schedule_runner.h"

#include "launch/worker/cell_memory.h"
#include "launch/worker/condition_sampler.h"
#include "workload/schedule_rules.h"

#include <algorithm>
#include <optional>

namespace ncclprobe::worker {

using namespace model;
using Step = ProgressBoard::Step;

namespace {

// An impossibility that is detected here, as a value: the other ranks must hear of it before they
// wait for this one.
template <typename Prepare>
std::optional<Error> attempt(Prepare prepare) {
  try {
    prepare();
    return std::nullopt;
  } catch (const Exception& error) {
    if (error.error().code != Errc::unsupported && error.error().code != Errc::unavailable)
      throw;
    return error.error();
  }
}

// Restores what the process started with when the cell ends, also if it was skipped.
class CellSettings {
public:
  explicit CellSettings(backend::Backend& backend) : backend_(backend) {}
  ~CellSettings() { backend_.apply({}); }
  CellSettings(const CellSettings&) = delete;
  CellSettings& operator=(const CellSettings&) = delete;

private:
  backend::Backend& backend_;
};

std::vector<LocalRankState> states_of(const std::vector<LocalRank>& local_ranks) {
  std::vector<LocalRankState> states;
  for (const LocalRank& local_rank : local_ranks) {
    LocalRankState state;
    state.rank = local_rank.rank;
    state.device = local_rank.device.get();
    states.push_back(std::move(state));
  }
  return states;
}

} // namespace

struct ScheduleRunner::Impl {
  Impl(backend::Backend& used, std::vector<LocalRank> opened, int size, std::uint64_t seed_,
       backend::Rendezvous& rendezvous, ProgressBoard& progress, TraceRecorder& recorder)
      : backend(used), owned(std::move(opened)), local_ranks(states_of(owned)), world_size(size),
        seed(seed_), board(progress), trace(recorder), memory(local_ranks),
        shared(local_ranks, size, rendezvous), communicators(used, local_ranks, size, rendezvous) {}

  backend::Backend& backend;
  std::vector<LocalRank> owned; // before the objects on their devices
  std::vector<LocalRankState> local_ranks;
  int world_size;
  std::uint64_t seed;
  ProgressBoard& board;
  TraceRecorder& trace;
  CellMemory memory;
  SharedBuffers shared;
  CommunicatorCache communicators; // destroyed first
  std::optional<std::int64_t> sampled_ns;

  bool sampling_is_due(std::int64_t now_ns) {
    constexpr std::int64_t k_period_ns = 1'000'000'000;
    if (sampled_ns && now_ns - *sampled_ns < k_period_ns)
      return false;
    sampled_ns = now_ns;
    return true;
  }

  void bind(const Schedule& schedule, const std::vector<LocalCommunicator*>& locals,
            Binding& binding, StepMarks* marks) {
    binding.registrations = register_buffers(schedule, binding.buffers, locals);
    binding.bound.emplace(schedule, backend, local_ranks, binding.buffers, locals, shared, trace,
                          marks);
  }

  void prepare(const Cell& cell, Binding& main) {
    value_or_throw(workload::check_schedule(cell.schedule, world_size));
    backend.apply(cell.settings);
    main.buffers = memory.make_room(cell.schedule);
  }

  // Some choices of a library can only be refused when it is asked for a certain operation.
  void require_settings() const {
    if (const std::string why = backend.why_not_applied(); !why.empty())
      raise(Errc::unsupported, "{}", why);
  }

  static bool shares_memory(const Schedule& schedule) {
    return std::ranges::any_of(
        schedule.buffers, [](const BufferDecl& buffer) { return buffer.memory == Memory::shared; });
  }

  // True if some rank has a problem; then all ranks skip the cell, and those with the problem say
  // why.
  bool skip(const std::optional<Error>& problem, std::vector<model::CellRecord>& results) {
    if (communicators.all_reduce_max(problem ? 1 : 0) == 0)
      return false;
    board.set(Step::outside);
    for (std::size_t local_rank = 0; local_rank < results.size(); ++local_rank)
      results[local_rank].outcome =
          problem ? Outcome{OutcomeKind::skipped, problem->text(), {local_ranks[local_rank].rank}}
                  : Outcome{OutcomeKind::skipped, "", {}};
    return true;
  }

  std::string why_unchecked(const DataFlow& flow) const {
    if (!backend.moves_data())
      return fmt::format("the {} backend moves no data", backend.name());
    return flow.results.empty() ? "the schedule does not describe its results" : "";
  }

  // All ranks have memory for the last launch of a batch, or none uses it.
  bool make_slots(const Schedule& schedule, const CellData& data, const Binding& main,
                  std::optional<Binding>& slot) {
    slot.emplace();
    std::optional<Error> problem = attempt(
        [&] { slot->buffers = memory.make_slots(schedule, main.buffers, data.flow().results); });
    if (communicators.all_reduce_max(problem ? 1 : 0) == 0)
      return true;
    slot.reset();
    memory.drop_large_slots();
    return false;
  }
};

ScheduleRunner::ScheduleRunner(backend::Backend& backend, std::vector<LocalRank> local_ranks,
                               int world_size, std::uint64_t seed, backend::Rendezvous& rendezvous,
                               ProgressBoard& board, TraceRecorder& trace)
    : impl_(std::make_unique<Impl>(backend, std::move(local_ranks), world_size, seed, rendezvous,
                                   board, trace)) {}

ScheduleRunner::~ScheduleRunner() = default;

void ScheduleRunner::connect_world() {
  impl_->communicators.world();
}

std::uint64_t ScheduleRunner::buffer_bytes(std::size_t local_rank) const {
  return impl_->memory.held_bytes(local_rank);
}

std::vector<model::CellRecord> ScheduleRunner::run(const Cell& cell,
                                                   std::optional<double>* estimate_us) {
  Impl& own = *impl_;
  const Schedule& schedule = cell.schedule;
  std::int64_t cell_start_ns = own.backend.now_ns();
  std::vector<model::CellRecord> results(own.local_ranks.size());
  CellSettings settings(own.backend);
  TraceRecorder::Span span(own.trace, trace::SpanKind::cell);
  own.board.set(Step::preparing);
  own.board.set_batch(0, 0);
  std::vector<LocalCommunicator*> locals = own.communicators.of(schedule);

  std::optional<StepMarks> step_marks; // must outlive the objects bound to it
  if (cell.timing.mode == TimingMode::steps)
    step_marks.emplace(schedule, own.local_ranks);
  StepMarks* marks = step_marks ? &*step_marks : nullptr;
  Binding main;
  bool shares_memory = own.shares_memory(schedule);
  auto unprepared = attempt([&] {
    own.prepare(cell, main);
    if (!shares_memory)
      own.bind(schedule, locals, main, marks);
  });
  if (own.skip(unprepared, results))
    return results;
  if (shares_memory) { // all ranks have their buffers now
    own.shared.exchange(schedule, main.buffers);
    if (own.skip(attempt([&] { own.bind(schedule, locals, main, marks); }), results))
      return results;
  }
  CellData data(schedule, own.local_ranks, locals, own.world_size, own.seed);
  CellRun run({own.backend, own.communicators, own.local_ranks, cell, data, main, own.board,
               own.trace, marks, results});
  run.prepare();
  if (shares_memory)
    own.communicators.all_reduce_max(
        0);      // all ranks must have written their data before others read it
  run.warm_up(); // connections are made on first use: not an estimate
  if (!cell.settings.empty() && own.skip(attempt([&] { own.require_settings(); }), results))
    return results;
  if (estimate_us != nullptr)
    *estimate_us = main.bound->estimate_us(schedule.timed);

  std::string why_unchecked = own.why_unchecked(data.flow());
  auto method_with = [&](Slots slots) {
    return why_unchecked.empty() ? choose_method(data.flow(), cell.timing.mode, slots)
                                 : CheckMethod::none;
  };
  CheckMethod method = method_with(Slots::there);
  std::optional<Binding> slot;
  if (method == CheckMethod::last_launch && !own.make_slots(schedule, data, main, slot))
    method = method_with(Slots::none);
  if (schedule.capture || slot) {
    auto problem = attempt([&] {
      main.bound->capture();
      if (!slot)
        return;
      own.bind(schedule, locals, *slot, marks);
      slot->bound->capture();
    });
    if (own.skip(problem, results))
      return results;
    if (schedule.capture)
      run.warm_up(); // a graph's first launch uploads it, so its time is not an estimate either
  }

  double iteration_ns = own.communicators.all_reduce_max(run.warm_up());
  int warmups = remaining_warmups(cell.timing, iteration_ns);
  for (int i = 1; i < warmups; ++i)
    run.warm_up();
  if (slot)
    run.warm_up(*slot->bound);
  Effort effort = plan_effort(cell.timing, iteration_ns);

  for (model::CellRecord& result : results) {
    if (method != CheckMethod::none)
      result.check.checked = true;
    result.check.method = in_words(method);
    result.check.why_unchecked = why_unchecked;
  }
  // Reading a GPU's state takes longer than many cells of events mode, and there are hundreds of
  // these. In events mode, and for other processes on the GPU in every mode, it is read only now
  // and then.
  using Company = ConditionSampler::Company;
  bool due = own.sampling_is_due(cell_start_ns);
  bool sampled = due || cell.timing.mode != TimingMode::events;
  std::optional<ConditionSampler> sampler;
  if (sampled)
    sampler.emplace(own.backend, own.local_ranks, cell_start_ns, ConditionSampler::Pace{},
                    due ? Company::asked : Company::left);
  if (cell.timing.mode == TimingMode::batch || marks != nullptr)
    run.time_batches(effort, method, slot ? &*slot : nullptr);
  else
    run.time_on_device(effort, method);
  if (sampler) {
    auto conditions = sampler->finish();
    for (std::size_t local_rank = 0; local_rank < results.size(); ++local_rank)
      results[local_rank].conditions = std::move(conditions[local_rank]);
  }
  slot.reset(); // before its buffers
  own.memory.drop_large_slots();
  own.board.set(Step::outside);
  return results;
}

} // namespace ncclprobe::worker
