// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/rank_steps.h"

#include "analysis/job/operation_order.h"
#include "analysis/timeline/activities.h"
#include "base/hash.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ncclprobe::analysis::replay {

using job::JobOperation;

namespace {

std::int64_t called_ns(const trace::NcclOperationRow& row) {
  return static_cast<std::int64_t>(std::max(row.enqueue_ns, row.enqueued_ns));
}

// Work that was launched before a window was not recorded, and runs before what was.
RecordedKernels recorded_kernels(const timeline::RankTrace& trace) {
  RecordedKernels found;
  const timeline::Spans all =
      timeline::spans_of(trace.kernels, trace::Table::kernel, trace.long_durations);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const std::uint8_t flags = i < trace.kernels.flags.size() ? trace.kernels.flags[i] : 0;
        (flags & (trace::k_communication | trace::k_no_times)) == 0)
      found.computing.push_back(all[i]);
  found.computing = timeline::unite(std::move(found.computing));
  for (const trace::KernelWindowRow& window : trace.kernel_windows) {
    const auto end_ns = static_cast<std::int64_t>(window.end_ns);
    const auto first = std::ranges::lower_bound(
        found.computing, static_cast<std::int64_t>(window.start_ns), {}, &timeline::Span::begin);
    if (first != found.computing.end() && first->begin < end_ns)
      found.known.push_back({first->begin, end_ns});
  }
  found.known = timeline::unite(std::move(found.known));
  return found;
}

// Moves operations from the GPU's clock to the host's. No operation begins before its call: if one
// does, the comparison of the clocks is off by that much. Without a comparison, the one that begins
// soonest after its call is taken to begin at once.
void to_host_clock(const std::optional<timeline::ClockModel>& gpu, const timeline::RankTrace& trace,
                   std::vector<JobOperation>& operations) {
  std::optional<std::int64_t> soonest_ns;
  for (JobOperation& one : operations) {
    if (!one.on_gpu)
      continue;
    for (std::int64_t* at_ns : {&one.begin_ns, &one.end_ns})
      if (gpu)
        *at_ns = gpu->to_reference(static_cast<std::uint64_t>(*at_ns));
    const std::int64_t after_ns = one.begin_ns - called_ns(trace.nccl_operations[one.row]);
    soonest_ns = std::min(soonest_ns.value_or(after_ns), after_ns);
  }
  if (!soonest_ns || (gpu && *soonest_ns > 0))
    return;
  for (JobOperation& one : operations)
    if (one.on_gpu) {
      one.begin_ns -= *soonest_ns;
      one.end_ns -= *soonest_ns;
    }
}

std::vector<std::vector<std::size_t>>
calls_of_steps(const job::RankSteps& rank, std::uint32_t last_step, std::size_t operations) {
  std::vector<std::vector<std::size_t>> calls(last_step + 1);
  for (const job::StepStretch& stretch : rank.stretches)
    for (std::uint32_t i = 0; i < stretch.steps * stretch.operations; ++i) {
      const std::uint32_t step = stretch.first_step + i / stretch.operations;
      if (const std::size_t at = stretch.first_operation + i; step <= last_step && at < operations)
        calls[step].push_back(at);
    }
  return calls;
}

} // namespace

TimedStep StepCalls::timed() const {
  TimedStep out{begun_ns, called_before_ns, {}};
  for (const Call& call : calls)
    out.calls.push_back({call.what.begin_ns, call.what.end_ns, called_ns(call.row)});
  return out;
}

std::vector<TimedStep> RankSteps::timed_steps() const {
  std::vector<TimedStep> all;
  for (const auto& [number, step] : steps)
    all.push_back(step.timed());
  return all;
}

Result<RankSteps> rank_steps(const timeline::TraceSource& source, const job::RankSteps& found,
                             const std::vector<std::uint32_t>& wanted,
                             const std::optional<timeline::ClockModel>& gpu) {
  NCCLPROBE_TRY_ASSIGN(const timeline::RankTrace trace,
                       source.load(found.rank, timeline::Pass::collectives));
  std::vector<JobOperation> operations = job::job_operations(trace, source.texts);
  to_host_clock(gpu, trace, operations);
  const auto calls = calls_of_steps(found, wanted.back(), operations.size());
  // A few operations may lack times of the GPU. Their steps are left out.
  RankSteps out{.rank = found.rank, .kernels = recorded_kernels(trace)};
  out.on_gpu = std::ranges::any_of(operations, &JobOperation::on_gpu);
  auto is_known = [&](const std::vector<std::size_t>& step) {
    return !step.empty() && (!out.on_gpu || std::ranges::all_of(step, [&](std::size_t at) {
      return operations[at].on_gpu;
    }));
  };
  std::unordered_map<std::uint16_t, std::uint64_t> hashes;
  for (const trace::CommunicatorRow& row : trace.communicators)
    hashes[row.id] = row.hash;
  for (std::uint32_t number : wanted) {
    const std::vector<std::size_t>&before = calls[number - 1], &own = calls[number];
    if (!is_known(before) || !is_known(own))
      continue;
    StepCalls step;
    for (std::size_t at : before)
      step.begun_ns = std::max(step.begun_ns, operations[at].end_ns);
    step.called_before_ns = called_ns(trace.nccl_operations[operations[before.back()].row]);
    base::Hash shape;
    for (std::size_t at : own) {
      const JobOperation& one = operations[at];
      shape = shape.step(one.signature);
      step.calls.push_back({one, trace.nccl_operations[one.row], hashes.at(one.communicator)});
    }
    step.shape = shape.value();
    out.steps.emplace(number, std::move(step));
  }
  return out;
}

} // namespace ncclprobe::analysis::replay
