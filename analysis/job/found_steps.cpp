// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/found_steps.h"

#include "analysis/job/operation_order.h"
#include "analysis/job/step_sequence.h"
#include "analysis/timeline/in_turn.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ncclprobe::analysis::job {

using timeline::Pass;
using timeline::RankTrace;
using timeline::TraceSource;

namespace {

constexpr std::size_t k_threads = 2;

std::vector<StepStretch> stretches_of(std::span<const std::uint32_t> steps) {
  std::vector<StepStretch> out;
  for (std::uint32_t first = 0, last = 0; first < steps.size(); first = last) {
    while (last < steps.size() && steps[last] == steps[first])
      ++last;
    if (steps[first] == k_outside)
      continue;
    StepStretch* before = out.empty() ? nullptr : &out.back();
    if (before != nullptr && before->operations == last - first &&
        before->first_operation + before->steps * before->operations == first &&
        before->first_step + before->steps == steps[first])
      ++before->steps;
    else
      out.push_back({first, last - first, steps[first], 1});
  }
  return out;
}

std::vector<StepPart> parts_of(const RankTrace& trace, std::span<const JobOperation> step) {
  std::vector<StepPart> parts;
  for (const JobOperation& one : step) {
    const trace::NcclOperationRow& row = trace.nccl_operations[one.row];
    StepPart part{0, row.function.id, one.bytes, 1, 0};
    for (const trace::CommunicatorRow& communicator : trace.communicators)
      if (communicator.id == one.communicator)
        part.communicator = communicator.hash;
    if (!parts.empty() && parts.back().communicator == part.communicator &&
        parts.back().function == part.function && parts.back().bytes == part.bytes)
      ++parts.back().times;
    else
      parts.push_back(part);
  }
  return parts;
}

class JobSteps {
public:
  explicit JobSteps(const TraceSource& source) : source_(source) {}

  base::Result<FoundSteps> find() {
    std::vector<int> waiting;
    for (const timeline::RankHead& head : source_.ranks)
      waiting.push_back(head.rank);
    // A rank that shares no communicator with those before it may share one with a later one. So a
    // further rank defines steps of its own only if nothing else is left.
    bool may_define = true, goes_on = true;
    while (!waiting.empty() && goes_on) {
      bool numbered = false, defined = false, marked = false;
      std::vector<int> still_waiting;
      std::optional<base::Error> trouble;
      timeline::work_in_turn(
          waiting.size(), k_threads, [&](std::size_t i) { return read(waiting[i]); },
          [&](std::size_t i, const base::Result<Read>& read) {
            const int rank = waiting[i];
            if (!read) {
              trouble = read.error();
              return false;
            }
            marked = !read->trace.operations.empty();
            if (marked)
              return false;
            if (number(rank, read->trace, read->operations))
              numbered = true;
            else if (may_define && !defined && define(rank, read->trace, read->operations))
              defined = true;
            else
              still_waiting.push_back(rank);
            return true;
          });
      if (trouble)
        return base::fail(*trouble);
      if (marked)
        return FoundSteps{.reason = NoSteps::marked};
      waiting = std::move(still_waiting);
      goes_on = numbered || defined || !may_define;
      may_define = !numbered;
    }
    for (int rank : waiting)
      out_.ranks.push_back({rank, operations_.at(rank), 0, 0, {}});
    std::ranges::sort(out_.ranks, {}, &RankSteps::rank);
    if (!out_.batches.empty()) {
      out_.reason = NoSteps::found;
      number_buckets();
    } else if (out_.operations() > 0)
      out_.reason = NoSteps::no_repeats;
    return std::move(out_);
  }

private:
  struct Read {
    RankTrace trace;
    std::vector<JobOperation> operations;
  };
  base::Result<Read> read(int rank) const {
    NCCLPROBE_TRY_ASSIGN(RankTrace trace, source_.load(rank, Pass::collectives));
    std::vector<JobOperation> operations = job_operations(trace, source_.texts);
    return Read{std::move(trace), std::move(operations)};
  }

  bool number(int rank, const RankTrace& trace, const std::vector<JobOperation>& operations) {
    operations_[rank] = operations.size();
    const NumberedOperations found = number_operations(operations, numbers_, out_.batches);
    if (found.known == 0)
      return false;
    take(rank, trace, operations, found.steps);
    out_.ranks.back().out_of_order = found.out_of_order;
    return true;
  }

  bool define(int rank, const RankTrace& trace, const std::vector<JobOperation>& operations) {
    if (!tried_.insert(rank).second)
      return false;
    const std::vector<SequenceStep> sequence = steps_of_sequence(operations);
    std::size_t covered = 0;
    for (const SequenceStep& step : sequence)
      covered += step.size;
    if (sequence.empty() || 2 * covered < operations.size())
      return false;
    std::vector<std::uint32_t> steps(operations.size(), k_outside);
    const std::uint32_t before =
        out_.batches.empty() ? 0 : out_.batches.back().first + out_.batches.back().steps;
    std::map<std::uint32_t, std::uint32_t> kinds; // kinds without steps are left out
    for (std::uint32_t i = 0; i < sequence.size(); ++i) {
      const SequenceStep& step = sequence[i];
      const auto [kind, is_new] =
          kinds.try_emplace(step.kind, static_cast<std::uint32_t>(out_.kinds.size()));
      if (is_new)
        out_.kinds.push_back(
            {rank, 0, parts_of(trace, std::span(operations).subspan(step.first, step.size))});
      ++out_.kinds[kind->second].steps;
      if (i == 0 || sequence[i - 1].batch != step.batch)
        out_.batches.push_back({before + i, 0, kind->second});
      ++out_.batches.back().steps;
      std::fill_n(steps.begin() + static_cast<std::ptrdiff_t>(step.first), step.size, before + i);
    }
    take(rank, trace, operations, steps);
    return true;
  }

  void take(int rank, const RankTrace& trace, const std::vector<JobOperation>& operations,
            const std::vector<std::uint32_t>& steps) {
    numbers_.add(operations, steps);
    std::vector<std::uint32_t> kinds;
    kinds.reserve(steps.size());
    for (std::uint32_t step : steps) {
      const StepBatch* batch = batch_of(out_.batches, step);
      kinds.push_back(batch == nullptr ? k_outside : batch->kind);
    }
    add_use(out_.communicators, rank, trace, operations, kinds, source_.texts);
    const auto outside = static_cast<std::size_t>(std::ranges::count(steps, k_outside));
    out_.ranks.push_back(
        {rank, operations.size(), operations.size() - outside, 0, stretches_of(steps)});
  }

  // The use of communicators is known only now.
  void number_buckets() {
    std::vector<std::uint64_t> steps;
    for (const StepKind& kind : out_.kinds)
      steps.push_back(kind.steps);
    for (StepKind& kind : out_.kinds) {
      std::map<std::uint64_t, std::size_t> next; // by communicator
      for (StepPart& part : kind.parts) {
        const auto in = out_.communicators.find(part.communicator);
        if (in == out_.communicators.end() || role_of(in->second, steps) != Role::data ||
            part.bytes <= k_control_bytes || part.function >= source_.texts.size() ||
            !is_reduction(source_.texts[part.function]))
          continue;
        part.first_bucket = 1 + next[part.communicator];
        next[part.communicator] += part.times;
      }
      for (StepPart& part : kind.parts)
        if (part.first_bucket > 0 && next.at(part.communicator) < 2)
          part.first_bucket = 0; // one all_reduce is no bucket of several
    }
  }

  const TraceSource& source_;
  FoundSteps out_;
  StepNumbers numbers_;
  std::map<int, std::uint64_t> operations_; // of each rank
  std::set<int> tried_;                     // to define steps
};

trace::OperationKind kind_of(trace::NcclKind kind) {
  switch (kind) {
  case trace::NcclKind::collective:
    return trace::OperationKind::collective;
  case trace::NcclKind::send:
    return trace::OperationKind::send;
  case trace::NcclKind::receive:
    return trace::OperationKind::receive;
  }
  return trace::OperationKind::other;
}

void mark(RankTrace& trace, const RankSteps& rank, const FoundSteps& found) {
  const std::vector<std::uint32_t> operations = operation_order(trace);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> in_steps; // step, index in operations
  for (const StepStretch& stretch : rank.stretches)
    for (std::uint32_t i = 0; i < stretch.steps * stretch.operations; ++i)
      if (const std::size_t at = stretch.first_operation + i; at < operations.size())
        in_steps.emplace_back(stretch.first_step + i / stretch.operations,
                              static_cast<std::uint32_t>(at));
  std::ranges::stable_sort(in_steps, {}, [](const auto& one) { return one.first; });
  trace.last_steps_are_open = true;
  std::uint16_t index = 0;
  for (std::size_t i = 0; i < in_steps.size(); ++i) {
    const auto [step, at] = in_steps[i];
    index = i > 0 && in_steps[i - 1].first == step && index < UINT16_MAX ? index + 1 : 0;
    const StepBatch* batch = batch_of(found.batches, step);
    if (batch == nullptr)
      continue;
    trace::NcclOperationRow& nccl = trace.nccl_operations[operations[at]];
    trace::OperationRow row;
    row.start_ns = nccl.enqueue_ns;
    row.id = static_cast<std::uint32_t>(trace.operations.size() + 1);
    row.cell = static_cast<std::int32_t>(batch->kind);
    row.batch = static_cast<std::int32_t>(batch - found.batches.data());
    row.iteration = step - batch->first;
    row.index = index;
    row.stream = nccl.communicator;
    row.kind = kind_of(nccl.kind);
    nccl.operation = row.id;
    trace.operations.push_back(row);
  }
}

} // namespace

std::uint64_t FoundSteps::operations() const {
  std::uint64_t all = 0;
  for (const RankSteps& rank : ranks)
    all += rank.operations;
  return all;
}

std::uint64_t FoundSteps::in_steps() const {
  std::uint64_t all = 0;
  for (const RankSteps& rank : ranks)
    all += rank.in_steps;
  return all;
}

base::Result<FoundSteps> find_steps(const TraceSource& source) {
  return JobSteps(source).find();
}

TraceSource with_steps(TraceSource source, std::shared_ptr<const FoundSteps> found) {
  source.load = [load = source.load, found](int rank, Pass pass) -> base::Result<RankTrace> {
    NCCLPROBE_TRY_ASSIGN(RankTrace trace, load(rank, pass));
    const auto of_rank = std::ranges::lower_bound(found->ranks, rank, {}, &RankSteps::rank);
    if (of_rank != found->ranks.end() && of_rank->rank == rank)
      mark(trace, *of_rank, *found);
    return trace;
  };
  return source;
}

} // namespace ncclprobe::analysis::job
