// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/break_even.h"

#include "base/units.h"

#include <algorithm>

namespace ncclprobe::analysis::steps {
namespace {

using model::StepParts;

// Steps are never made longer than this: less overlap counts as none.
constexpr double k_least_hidden_share = 0.001; // H / X
// Share of a step; less is not mentioned.
constexpr double k_least_told_share = 0.01;

std::optional<double> as_it_is_ns(const StepTimes& times) {
  const double hidden_ns = times.transfer_ns - times.exposed_transfer_ns;
  return hidden_ns > k_least_hidden_share * times.transfer_ns
             ? std::optional(computing_ns(times) * times.transfer_ns / hidden_ns)
             : std::nullopt;
}

// The inputs of the verdict, with one value per process.
double exposed_share(const StepTimes& times) {
  return times.exposed_transfer_ns / times.step_ns;
}
double other_share(const StepTimes& times) {
  return (times.exposed_wait_ns + times.idle_ns + times.exposed_copy_ns) / times.step_ns;
}
double computing_less_transfer_ns(const StepTimes& times) {
  return computing_ns(times) - times.transfer_ns;
}

BoundBy verdict(double exposed_share, double other_share, double computing_less_transfer_ns) {
  if (exposed_share >= k_bound_share)
    return computing_less_transfer_ns < 0 ? BoundBy::interconnect : BoundBy::overlap;
  return other_share >= k_bound_share ? BoundBy::other : BoundBy::computing;
}

std::optional<Interval> interval_of(const std::vector<double>& values) {
  const Estimate estimate = mean_estimate(values, k_confidence);
  const Interval* interval = telling(estimate);
  return interval ? std::optional(*interval) : std::nullopt;
}

std::optional<Interval> interval_over(const std::vector<StepProcess>& processes,
                                      double (*of)(const StepTimes&)) {
  std::vector<double> values;
  for (const StepProcess& process : processes)
    values.push_back(of(process.figures.times));
  return interval_of(values);
}

std::optional<Interval> as_it_is_interval(const std::vector<StepProcess>& processes) {
  std::vector<double> values_ns;
  for (const StepProcess& process : processes)
    if (auto value_ns = as_it_is_ns(process.figures.times))
      values_ns.push_back(*value_ns);
  return values_ns.size() == processes.size() ? interval_of(values_ns) : std::nullopt;
}

// Every verdict that the ends of the intervals allow, except `found`.
std::optional<std::vector<BoundBy>> also_possible(const std::vector<StepProcess>& processes,
                                                  BoundBy found) {
  const auto exposed = interval_over(processes, exposed_share);
  const auto other = interval_over(processes, other_share);
  const auto computing = interval_over(processes, computing_less_transfer_ns);
  if (!exposed || !other || !computing)
    return std::nullopt;
  std::vector<BoundBy> possible;
  for (double exposed_end : {exposed->low, exposed->high})
    for (double other_end : {other->low, other->high})
      for (double computing_end_ns : {computing->low, computing->high}) {
        const BoundBy one = verdict(exposed_end, other_end, computing_end_ns);
        if (one != found && std::ranges::find(possible, one) == possible.end())
          possible.push_back(one);
      }
  return possible;
}

BreakEven break_even_of(const StepResult& result) {
  const StepTimes& times = result.times;
  BreakEven one{.result = &result,
                .bound_by = verdict(exposed_share(times), other_share(times),
                                    computing_less_transfer_ns(times)),
                .computing_ns = computing_ns(times),
                .transfer_ns = times.transfer_ns,
                .exposed_ns = times.exposed_transfer_ns,
                .as_it_is_ns = as_it_is_ns(times)};
  const std::vector<StepProcess>& processes = result.processes;
  one.computing_interval_ns = interval_over(processes, computing_ns);
  one.transfer_interval_ns =
      interval_over(processes, [](const StepTimes& of) { return of.transfer_ns; });
  one.exposed_share_interval = interval_over(processes, exposed_share);
  one.as_it_is_interval_ns = as_it_is_interval(processes);
  one.also_possible = also_possible(processes, one.bound_by);
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

std::string verdict_in_words(const BreakEven& one) {
  std::string text(base::to_string(one.bound_by));
  for (BoundBy other : one.also_possible.value_or(std::vector<BoundBy>{}))
    text += fmt::format(" or {}", base::to_string(other));
  return text;
}

std::string in_words(const BreakEven& one) {
  using base::format_duration;
  std::string text =
      fmt::format("{}: it computes for {} per step and transfers for {}, {} of it uncovered",
                  verdict_in_words(one), format_duration(one.computing_ns),
                  format_duration(one.transfer_ns), format_duration(one.exposed_ns));
  if (one.bound_by == BoundBy::computing)
    return text;
  if (one.bound_by == BoundBy::other)
    return text + "; of the step time " + others_in_words(one.result->times);
  text += fmt::format("; {} of computing {} hide all transfers", format_duration(one.transfer_ns),
                      one.bound_by == BoundBy::overlap ? "would be enough to" : "could");
  return text + (one.as_it_is_ns
                     ? fmt::format(", {} at this step's overlap", format_duration(*one.as_it_is_ns))
                     : ", but this step hides none of them");
}

} // namespace ncclprobe::analysis::steps
