// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/computing.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ncclprobe::analysis::replay {
namespace {

// One spread must be this much smaller to tell.
constexpr double k_clearly_smaller = 0.5;
constexpr std::size_t k_fewest_gaps = 8;

// Of one step, by unit.
struct StepGaps {
  std::vector<double> ns; // computing before it
  std::vector<bool> is_queued;
  std::vector<std::int64_t> begins_ns;
  // Its last units, if all of them are queued: no begin tells how much was computed before them.
  std::size_t rest = 0;
  std::int64_t rest_from_ns = 0; // computing was there
};

StepGaps gaps_of(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                 const TimedStep& step) {
  StepGaps out;
  std::map<int, std::int64_t> free_ns; // by communicator
  std::int64_t at_ns = step.begun_ns;  // computing has come here
  out.rest_from_ns = at_ns;
  std::optional<std::int64_t> called_ns;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const UnitTimes own = times_of(units[i], step);
    const auto free = free_ns.try_emplace(units[i].communicator, step.begun_ns).first;
    std::int64_t ns = std::max<std::int64_t>(0, own.begin_ns - at_ns);
    // It waited for its stream, so its begin says only that it was ready before. Calls follow
    // each other on the host as what they wait for does on the GPU.
    const bool is_queued = free->second > at_ns && own.begin_ns < free->second + k_queued_ns;
    if (is_queued)
      ns = std::min(ns, called_ns ? std::max<std::int64_t>(0, own.called_ns - *called_ns) : ns);
    out.ns.push_back(static_cast<double>(ns));
    out.is_queued.push_back(is_queued);
    out.begins_ns.push_back(own.begin_ns);
    at_ns += ns;
    if (waited[i])
      at_ns = std::max(at_ns, own.end_ns);
    if (!is_queued || waited[i]) {
      out.rest = i + 1;
      out.rest_from_ns = at_ns;
    }
    free->second = std::max(free->second, own.end_ns);
    called_ns = own.called_ns;
  }
  return out;
}

// A host may be slower than its GPU, or faster. How much longer the GPU computes before the last,
// queued units than the host needs between their calls; nothing if not all kernels were recorded.
std::optional<double> growth_of(const StepGaps& step, const TimedStep& times,
                                const RecordedKernels& kernels) {
  const auto computing_ns = kernels.computing_ns({step.rest_from_ns, times.end_ns()});
  const double called_ns =
      std::accumulate(step.ns.begin() + static_cast<std::ptrdiff_t>(step.rest), step.ns.end(), 0.0);
  if (!computing_ns || called_ns <= 0)
    return std::nullopt;
  return *computing_ns / called_ns;
}

// All of it before they begin.
void grow(StepGaps& step, double growth) {
  auto at_ns = static_cast<double>(step.rest_from_ns);
  for (std::size_t i = step.rest; i < step.ns.size(); ++i) {
    const double most_ns = static_cast<double>(step.begins_ns[i]) - at_ns;
    step.ns[i] = std::min(growth * step.ns[i], std::max(step.ns[i], most_ns));
    at_ns += step.ns[i];
  }
}

} // namespace

UnitTimes times_of(const UnitPlace& unit, const TimedStep& step) {
  UnitTimes times{step.calls[unit.first].begin_ns, step.calls[unit.first].end_ns,
                  step.calls[unit.first].called_ns};
  for (std::size_t i = unit.first + 1; i < unit.last; ++i) {
    times.begin_ns = std::min(times.begin_ns, step.calls[i].begin_ns);
    times.end_ns = std::max(times.end_ns, step.calls[i].end_ns);
  }
  return times;
}

double spread_of(const std::vector<double>& values) {
  const double middle = median(values);
  double sum = 0;
  for (double value : values)
    sum += std::abs(value - middle);
  return sum / static_cast<double>(values.size());
}

std::int64_t TimedStep::end_ns() const {
  std::int64_t last_ns = begun_ns;
  for (const TimedCall& call : calls)
    last_ns = std::max(last_ns, call.end_ns);
  return last_ns;
}

void WaitSigns::add(const std::vector<UnitPlace>& units, const std::vector<TimedStep>& steps) {
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    std::vector<double> since_begin, since_end;
    for (const TimedStep& step : steps) {
      const UnitTimes own = times_of(units[i], step), next = times_of(units[i + 1], step);
      if (next.begin_ns < own.end_ns + k_queued_ns)
        continue;
      since_begin.push_back(static_cast<double>(next.begin_ns - own.begin_ns));
      since_end.push_back(static_cast<double>(next.begin_ns - own.end_ns));
    }
    if (since_end.size() < k_fewest_gaps)
      continue;
    Spreads& sums = spreads_[units[i].communicator];
    sums.since_begin_ns += spread_of(since_begin);
    sums.since_end_ns += spread_of(since_end);
  }
}

std::optional<bool> WaitSigns::waits(int communicator) const {
  const auto found = spreads_.find(communicator);
  if (found == spreads_.end())
    return std::nullopt;
  const auto& [since_begin_ns, since_end_ns] = found->second;
  if (since_end_ns < k_clearly_smaller * since_begin_ns)
    return true;
  if (since_begin_ns < k_clearly_smaller * since_end_ns)
    return false;
  return std::nullopt;
}

std::optional<double> RecordedKernels::computing_ns(timeline::Span in) const {
  if (in.length() <= 0 || timeline::shared_length(known, {in}) < in.length())
    return std::nullopt;
  return static_cast<double>(timeline::shared_length(computing, {in}));
}

Computing computing_of(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                       const std::vector<TimedStep>& steps, const RecordedKernels& kernels) {
  std::vector<StepGaps> all;
  std::vector<double> growths;
  for (const TimedStep& step : steps) {
    all.push_back(gaps_of(units, waited, step));
    if (const auto growth = growth_of(all.back(), step, kernels))
      growths.push_back(*growth);
  }
  if (!growths.empty())
    for (StepGaps& step : all)
      grow(step, median(growths));
  std::vector<std::vector<double>> seen(units.size()), estimated(units.size());
  Computing out;
  for (StepGaps& step : all) {
    for (std::size_t i = 0; i < units.size(); ++i)
      (step.is_queued[i] ? estimated : seen)[i].push_back(step.ns[i]);
    out.of_step_ns.push_back(std::accumulate(step.ns.begin(), step.ns.end(), 0.0));
    out.steps_ns.push_back(std::move(step.ns));
  }
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::vector<double>& known = seen[i];
    if (2 * known.size() < steps.size())
      known.insert(known.end(), estimated[i].begin(), estimated[i].end());
    out.before_ns.push_back(known.empty() ? 0 : median_in_place(known));
  }
  return out;
}

} // namespace ncclprobe::analysis::replay
