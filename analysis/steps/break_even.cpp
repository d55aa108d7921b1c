// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/break_even.h"

#include "base/units.h"

namespace ncclprobe::analysis::steps {
namespace {

using workload::StepParts;

// Beyond this nobody makes a step longer: what hides so little hides nothing.
constexpr double k_least_hidden_share = 0.001; // H / X
// Of a step; less is not worth a word.
constexpr double k_least_told_share = 0.01;

BreakEven break_even_of(const StepResult& result) {
  const StepTimes& times = result.times;
  BreakEven one{.result = &result,
                .computing_ns = times.compute_ns - times.prepare_ns,
                .transfer_ns = times.transfer_ns,
                .exposed_ns = times.exposed_transfer_ns};
  std::vector<double> transfers_ns;
  for (const StepProcess& process : result.processes)
    transfers_ns.push_back(process.figures.times.transfer_ns);
  one.transfer_interval_ns = mean_estimate(transfers_ns, k_confidence).interval;
  const double hidden_ns = one.transfer_ns - one.exposed_ns;
  if (hidden_ns > k_least_hidden_share * one.transfer_ns)
    one.as_it_is_ns = one.computing_ns * one.transfer_ns / hidden_ns;
  const double bound_ns = k_bound_share * times.step_ns;
  if (one.exposed_ns >= bound_ns)
    one.bound_by = one.computing_ns < one.transfer_ns ? BoundBy::interconnect : BoundBy::overlap;
  else if (times.exposed_wait_ns + times.idle_ns + times.exposed_copy_ns >= bound_ns)
    one.bound_by = BoundBy::other;
  return one;
}

// "30.1% waiting for other ranks, 2.0% idle"
std::string others_in_words(const StepTimes& times) {
  std::string text;
  auto add = [&](const char* what, double ns) {
    if (ns >= k_least_told_share * times.step_ns)
      text += fmt::format("{}{:.1f}% {}", text.empty() ? "" : ", ", 100 * ns / times.step_ns, what);
  };
  add("waiting for other ranks", times.exposed_wait_ns);
  add("idle", times.idle_ns);
  add("uncovered input copies", times.exposed_copy_ns);
  return text;
}

} // namespace

std::vector<BreakEven> break_evens(const std::vector<StepResult>& results) {
  std::vector<BreakEven> found;
  for (const StepResult& result : results)
    if (result.step.parts == StepParts::all && !result.processes.empty() &&
        result.data != DataState::wrong && result.times.transfer_ns > 0 &&
        result.step.ranks.size() > 1)
      found.push_back(break_even_of(result));
  return found;
}

std::string in_words(const BreakEven& one) {
  using base::format_duration;
  std::string text =
      fmt::format("{}: it computes for {} a step and transfers for {}, {} of it uncovered",
                  base::to_string(one.bound_by), format_duration(one.computing_ns),
                  format_duration(one.transfer_ns), format_duration(one.exposed_ns));
  if (one.bound_by == BoundBy::computing)
    return text;
  if (one.bound_by == BoundBy::other)
    return text + "; of the step time " + others_in_words(one.result->times);
  text += fmt::format("; {} of computing {} hide all of it", format_duration(one.transfer_ns),
                      one.bound_by == BoundBy::overlap ? "would be enough to" : "could");
  return text + (one.as_it_is_ns
                     ? fmt::format(", {} at this step's overlap", format_duration(*one.as_it_is_ns))
                     : ", but this step hides nothing of it");
}

} // namespace ncclprobe::analysis::steps
