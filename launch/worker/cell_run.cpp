// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/cell_run.h"

#include <algorithm>
#include <numeric>

namespace ncclprobe::worker {

using namespace model;
using Step = ProgressBoard::Step;

namespace {

// Limit of repetitions of a launch that the host enqueued too late. After that its time counts
// anyway.
constexpr int k_most_repeats = 3;

} // namespace

void CellRun::prepare() {
  parts_.board.set(Step::filling);
  parts_.data.guard(parts_.main.buffers);
  fill();
}

void CellRun::fill() {
  parts_.board.set(Step::filling);
  parts_.data.fill(parts_.main.buffers);
}

void CellRun::run_once(BoundSchedule& bound) {
  bound.launch_before();
  bound.launch(parts_.cell.schedule.timed);
  bound.launch_after();
  bound.wait();
}

double CellRun::warm_up() {
  return warm_up(*parts_.main.bound);
}

double CellRun::warm_up(BoundSchedule& bound) {
  TraceRecorder::Span span(parts_.trace, trace::SpanKind::warm_up, 1);
  parts_.board.set(Step::warming_up);
  parts_.board.set_launch(++warm_ups_);
  std::int64_t start = parts_.backend.now_ns();
  run_once(bound);
  return static_cast<double>(parts_.backend.now_ns() - start);
}

void CellRun::barrier() {
  TraceRecorder::Span span(parts_.trace, trace::SpanKind::meeting);
  parts_.board.set(Step::barrier);
  parts_.communicators.all_reduce_max(0);
}

// The one barrier after a batch: does any rank have wrong data, or need more?
Vote CellRun::agree(const std::vector<bool>& wrong) {
  Vote own = Vote::enough;
  std::int64_t spent_ns = parts_.backend.now_ns() - start_ns_;
  for (std::size_t local_rank = 0; local_rank < parts_.local_ranks.size(); ++local_rank) {
    const std::vector<double>& times = times_ns_[local_rank];
    bool due = static_cast<int>(times.size()) % vote_every_ == 0;
    Vote one = due                                 ? vote(limits_, times, spent_ns)
               : is_out_of_time(limits_, spent_ns) ? Vote::out_of_time
                                                   : Vote::more;
    own = std::max(own, wrong[local_rank] ? Vote::wrong_data : one);
  }
  parts_.board.set(Step::barrier);
  return static_cast<Vote>(
      static_cast<int>(parts_.communicators.all_reduce_max(static_cast<int>(own))));
}

std::vector<bool> CellRun::compare(const LocalBuffers& buffers, const std::string& launch) {
  TraceRecorder::Span span(parts_.trace, trace::SpanKind::check);
  parts_.board.set(Step::comparing);
  std::vector<DataComparison> findings = parts_.data.compare(buffers);
  std::vector<bool> wrong;
  for (std::size_t local_rank = 0; local_rank < findings.size(); ++local_rank) {
    const DataComparison& found = findings[local_rank];
    CheckResult& check = parts_.results[local_rank].check;
    ++check.launches;
    check.elements += found.elements;
    check.wrong += found.wrong;
    wrong.push_back(found.wrong > 0);
    if (found.wrong == 0)
      continue;
    check.first_wrong = found.first_wrong + ", " + launch;
    parts_.results[local_rank].outcome = {OutcomeKind::wrong_data,
                                          fmt::format("{} of {} elements are wrong; {}",
                                                      found.wrong, found.elements,
                                                      check.first_wrong),
                                          {parts_.local_ranks[local_rank].rank}};
  }
  return wrong;
}

// Once, after all ranks' last launch: overwritten bytes stay overwritten.
void CellRun::compare_untouched(const LocalBuffers& buffers, const std::vector<int>& which) {
  TraceRecorder::Span span(parts_.trace, trace::SpanKind::check);
  parts_.board.set(Step::comparing);
  std::vector<std::string> findings = parts_.data.compare_untouched(buffers, which);
  for (std::size_t local_rank = 0; local_rank < findings.size(); ++local_rank) {
    CellRecord& result = parts_.results[local_rank];
    if (findings[local_rank].empty() || !result.outcome.ok())
      continue;
    result.check.first_wrong = findings[local_rank];
    result.outcome = {OutcomeKind::wrong_data,
                      std::move(findings[local_rank]),
                      {parts_.local_ranks[local_rank].rank}};
  }
}

void CellRun::compare_all_untouched() {
  std::vector<int> all(parts_.cell.schedule.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  compare_untouched(parts_.main.buffers, all);
}

void CellRun::note(std::size_t local_rank, const Sample& sample) {
  parts_.results[local_rank].samples.push_back(sample);
  times_ns_[local_rank].push_back(static_cast<double>(sample.elapsed_ns) / sample.iterations);
}

void CellRun::time_batch(int batch, int iterations, BoundSchedule& last) {
  BoundSchedule& main = *parts_.main.bound;
  const Region& timed = parts_.cell.schedule.timed;
  main.launch_before();
  main.wait();
  barrier(); // all ranks start together
  parts_.board.set(Step::launching);
  parts_.trace.enter_batch(batch);
  {
    TraceRecorder::Span span(parts_.trace, trace::SpanKind::batch,
                             static_cast<std::uint32_t>(iterations));
    std::int64_t start = parts_.backend.now_ns();
    for (int i = 1; i < iterations; ++i) {
      enter_launch(i - 1);
      main.launch(timed);
    }
    enter_launch(iterations - 1);
    last.launch(timed);
    std::int64_t launch_ns = parts_.backend.now_ns() - start;
    parts_.board.set(Step::waiting);
    last.wait([&](std::size_t local_rank) {
      if (looks_on_[local_rank])
        times_ns_[local_rank].push_back(0);
      else
        note(local_rank, {parts_.local_ranks[local_rank].rank, batch, iterations,
                          parts_.backend.now_ns() - start, launch_ns});
    });
  }
  parts_.trace.enter_batch(-1);
  if (parts_.marks != nullptr)
    parts_.marks->enter_launch(-1);
  main.launch_after();
  main.wait();
}

void CellRun::enter_launch(int iteration) {
  parts_.board.set_launch(iteration + 1);
  parts_.trace.enter_iteration(iteration);
  if (parts_.marks != nullptr)
    parts_.marks->enter_launch(iteration);
}

// All ranks launch equally often.
MarkLimits CellRun::prepare_marks(int wanted) {
  auto largest = [this](std::size_t own) {
    return static_cast<std::size_t>(parts_.communicators.all_reduce_max(static_cast<double>(own)));
  };
  std::size_t in_process = largest(parts_.marks->in_process());
  MarkLimits limits = mark_limits(wanted, in_process, largest(parts_.marks->most_of_one_rank()));
  parts_.marks->make_events(limits.launches);
  return limits;
}

std::vector<bool> CellRun::check_separately(int batch) {
  fill();
  barrier(); // no rank may write into a buffer that another is still filling
  parts_.board.set(Step::waiting);
  run_once(*parts_.main.bound);
  barrier(); // a rank that leaves early may take its last message with it
  return compare(parts_.main.buffers, fmt::format("launch after batch {}", batch + 1));
}

void CellRun::time_batches(const Effort& effort, CheckMethod method, Binding* slot) {
  limits_ = limits_for(parts_.cell.timing, effort);
  times_ns_.resize(parts_.local_ranks.size());
  looks_on_.assign(parts_.local_ranks.size(), false);
  MarkLimits marked;
  int iterations = effort.iterations;
  if (parts_.marks != nullptr) {
    marked = prepare_marks(effort.iterations);
    iterations = marked.launches;
    for (std::size_t local_rank = 0; local_rank < parts_.local_ranks.size(); ++local_rank)
      looks_on_[local_rank] = parts_.main.bound->timed_streams(local_rank).empty();
  }
  start_ns_ = parts_.backend.now_ns();
  bool to_slot = method == CheckMethod::last_launch;
  BoundSchedule& last = to_slot ? *slot->bound : *parts_.main.bound;
  if (to_slot)
    parts_.data.guard(slot->buffers);
  int batch = 0;
  for (Vote decided = Vote::more; decided == Vote::more; ++batch) {
    parts_.board.set_batch(batch + 1, iterations);
    if (to_slot) {
      parts_.board.set(Step::filling);
      parts_.data.poison_results(parts_.main.buffers);
      parts_.data.poison_results(slot->buffers);
    }
    time_batch(batch, iterations, last);
    if (parts_.marks != nullptr && batch < marked.batches)
      parts_.marks->read(batch, iterations, parts_.results);
    std::vector<bool> wrong(parts_.local_ranks.size(), false);
    if (to_slot)
      wrong = compare(slot->buffers, fmt::format("launch {} of batch {}", iterations, batch + 1));
    else if (method == CheckMethod::separate_launch)
      wrong = check_separately(batch);
    decided = agree(wrong);
  }
  if (method != CheckMethod::none)
    compare_all_untouched();
  if (to_slot)
    compare_untouched(slot->buffers, parts_.data.flow().results);
  if (parts_.marks != nullptr)
    add_remark(remark_on_marks(parts_.cell.schedule, effort.iterations, marked, batch));
}

// Notes for readers of the samples.
void CellRun::add_remark(const std::string& remark) {
  for (model::CellRecord& result : parts_.results)
    if (!remark.empty())
      result.check.method += (result.check.method.empty() ? "" : "; ") + remark;
}

// Before a launch whose data is checked.
void CellRun::poison_or_fill() {
  parts_.board.set(Step::filling);
  parts_.data.flow().repeatable ? parts_.data.poison_results(parts_.main.buffers)
                                : parts_.data.fill(parts_.main.buffers);
}

// False, on all ranks, if the time includes the host's enqueueing on some rank.
bool CellRun::time_launch(LaunchTimer& timer, int batch, int tries_before, int iterations) {
  BoundSchedule& main = *parts_.main.bound;
  main.launch_before();
  main.wait();
  barrier(); // all ranks start together, after all inputs are written
  parts_.board.set(Step::launching);
  timer.begin(tries_before);
  parts_.trace.enter_batch(batch);
  bool held = false;
  {
    TraceRecorder::Span span(parts_.trace, trace::SpanKind::batch,
                             static_cast<std::uint32_t>(iterations));
    std::int64_t start = parts_.backend.now_ns();
    for (int i = 0; i < iterations; ++i) {
      parts_.trace.enter_iteration(i);
      main.launch(parts_.cell.schedule.timed);
    }
    launch_ns_ = parts_.backend.now_ns() - start;
    held = timer.end();
    parts_.board.set(Step::waiting);
    main.wait();
  }
  parts_.trace.enter_batch(-1);
  return parts_.communicators.all_reduce_max(held ? 0 : 1) == 0;
}

void CellRun::time_on_device(const Effort& effort, CheckMethod method) {
  bool single = parts_.cell.timing.mode == TimingMode::latency;
  int iterations = single ? 1 : effort.iterations;
  limits_ = limits_for(parts_.cell.timing, effort);
  vote_every_ = single ? effort.iterations : 1;
  times_ns_.resize(parts_.local_ranks.size());
  start_ns_ = parts_.backend.now_ns();
  BoundSchedule& main = *parts_.main.bound;
  LaunchTimer timer(parts_.backend, parts_.communicators, main, parts_.local_ranks);
  parts_.board.set_single_launches(limits_.most);
  time_launch(timer, -1, 0, iterations);
  main.launch_after();
  main.wait();
  int late = 0;
  for (int launch = 0;; ++launch) {
    for (int tries = 0;; ++tries) {
      if (method != CheckMethod::none)
        poison_or_fill();
      parts_.board.set_launch(launch + 1);
      bool held = time_launch(timer, launch, tries, iterations);
      if (held || tries == k_most_repeats) {
        late += held ? 0 : 1;
        break;
      }
      main.launch_after();
      main.wait();
    }
    for (std::size_t local_rank = 0; local_rank < parts_.local_ranks.size(); ++local_rank) {
      std::int64_t elapsed_ns = timer.elapsed_ns(local_rank);
      if (!single && elapsed_ns == 0)
        times_ns_[local_rank].push_back(0); // it had nothing to do
      else
        note(local_rank,
             {parts_.local_ranks[local_rank].rank, launch, iterations, elapsed_ns, launch_ns_});
    }
    main.launch_after();
    main.wait();
    std::vector<bool> wrong(parts_.local_ranks.size(), false);
    if (method != CheckMethod::none)
      wrong = compare(parts_.main.buffers,
                      fmt::format("{} {}", single ? "launch" : "batch", launch + 1));
    if (agree(wrong) != Vote::more)
      break;
  }
  if (method != CheckMethod::none)
    compare_all_untouched();
  if (late > 0)
    add_remark(fmt::format("{} of the timed {} include the host's enqueueing", late,
                           single ? "launches" : "batches"));
}

} // namespace ncclprobe::worker
