// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/scaling.h"

#include "analysis/results/conditions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::steps {
namespace {

using model::StepParts;

// Clocks that differ by less count as equal.
constexpr double k_same_clock = 0.01;
// Of the step time; less is 0.0 points of 100.
constexpr double k_least_said = 0.0005;

double clock_ratio(double at_mhz, double base_mhz) {
  const double ratio = at_mhz / base_mhz;
  return std::abs(ratio - 1) > k_same_clock ? ratio : 1;
}

// Everything that stays the same along a scaling.
bool same_scaling(const StepResult& a, const StepResult& b) {
  return a.setting == b.setting && a.step.parts == b.step.parts && same_kind(a, b);
}

// Ideal step time in units of the base's: samples of a rank, relative to those of a rank in the
// base.
double ideal_of(const StepResult& base, const StepResult& at) {
  auto of_rank = [](const model::StepLabel& step) {
    return samples_per_step(step) / static_cast<double>(step.ranks.size());
  };
  return of_rank(at.step) / of_rank(base.step);
}

std::vector<std::string> remarks_on(const StepResult& base, const StepResult& at) {
  std::vector<std::string> remarks;
  for (const StepResult* one : {&base, &at})
    if (one->throttle_reasons != 0)
      remarks.push_back(fmt::format("GPUs throttled at {} ranks in {} of {} processes: {}",
                                    one->step.ranks.size(), one->throttled_processes,
                                    one->processes.size(), throttle_text(one->throttle_reasons)));
  if (base.sm_clock_mhz && at.sm_clock_mhz &&
      clock_ratio(*at.sm_clock_mhz, *base.sm_clock_mhz) != 1)
    remarks.push_back(fmt::format("SM clock {:.0f} MHz at {} ranks, {:.0f} MHz at {}",
                                  *at.sm_clock_mhz, at.step.ranks.size(), *base.sm_clock_mhz,
                                  base.step.ranks.size()));
  return remarks;
}

const StepResult* alone_of(const std::vector<StepResult>& results, const StepResult& all) {
  auto found = std::ranges::find_if(results, [&](const StepResult& other) {
    return other.step.parts == StepParts::compute && same_step(other, all);
  });
  return found == results.end() ? nullptr : &*found;
}

// Nothing if no process measured both.
std::optional<ScalingPoint> point_of(const std::vector<StepResult>& results, const StepResult& base,
                                     const StepResult& at) {
  ScalingPoint point{
      .result = &at, .ranks = static_cast<int>(at.step.ranks.size()), .step_ns = at.times.step_ns};
  const double ideal = ideal_of(base, at);
  const StepResult* alone = alone_of(results, at);
  const bool all_have_alone =
      alone && std::ranges::all_of(at.processes, [&](const StepProcess& one) {
        return alone->process_of(one.trial) != nullptr;
      });
  std::vector<double> efficiencies;
  std::array<std::vector<double>, k_losses> terms;
  std::vector<const StepProcess*> of_base, of_at, of_alone;
  for (const StepProcess& process : at.processes) {
    const StepProcess* there = base.process_of(process.trial);
    if (!there)
      continue;
    std::optional<AccountSide> without;
    if (all_have_alone) {
      of_alone.push_back(alone->process_of(process.trial));
      without = side_of(*of_alone.back());
    }
    of_base.push_back(there);
    of_at.push_back(&process);
    efficiencies.push_back(ideal * there->figures.times.step_ns / process.figures.times.step_ns);
    LossAccount account = loss_account(side_of(*there), side_of(process), ideal, without);
    for (std::size_t i = 0; i < k_losses; ++i)
      terms[i].push_back(account.terms[i]);
  }
  if (efficiencies.empty())
    return std::nullopt;
  point.efficiency = ratio_estimate(efficiencies, k_confidence);
  point.account =
      loss_account(mean_side(of_base), mean_side(of_at), ideal,
                   of_alone.empty() ? std::nullopt : std::optional(mean_side(of_alone)));
  for (std::size_t i = 0; i < k_losses; ++i)
    point.intervals[i] = mean_estimate(terms[i], k_confidence).interval;
  point.remarks = remarks_on(base, at);
  return point;
}

ScalingKind kind_of(const std::vector<ScalingPoint>& points) {
  auto all_equal = [&](auto value) {
    return std::ranges::all_of(points, [&](const ScalingPoint& point) {
      return std::abs(value(*point.result) / value(*points.front().result) - 1) < 1e-9;
    });
  };
  auto samples = [](const StepResult& result) { return samples_per_step(result.step); };
  if (all_equal([&](const StepResult& result) {
        return samples(result) / static_cast<double>(result.step.ranks.size());
      }))
    return ScalingKind::weak;
  return all_equal(samples) ? ScalingKind::strong : ScalingKind::mixed;
}

} // namespace

AccountSide side_of(const StepProcess& process) {
  return {process.figures.times, process.figures.stragglers_ns, process.sm_clock_mhz};
}

AccountSide mean_side(const std::vector<const StepProcess*>& processes) {
  AccountSide side;
  std::vector<double> steps_ns, clocks_mhz;
  for (const StepProcess* process : processes) {
    const StepFigures& figures = process->figures;
    StepTimes shares = figures.times;
    shares *= 1 / figures.times.step_ns;
    side.times += shares;
    side.stragglers_ns += figures.stragglers_ns / figures.times.step_ns;
    steps_ns.push_back(figures.times.step_ns);
    if (process->sm_clock_mhz)
      clocks_mhz.push_back(*process->sm_clock_mhz);
  }
  const double scale = geometric_mean(steps_ns) / static_cast<double>(processes.size());
  side.times *= scale;
  side.stragglers_ns *= scale;
  if (clocks_mhz.size() == processes.size())
    side.sm_clock_mhz = mean_estimate(clocks_mhz, k_confidence).value;
  return side;
}

LossAccount loss_account(const AccountSide& base, const AccountSide& at, double ideal,
                         const std::optional<AccountSide>& alone) {
  // A part's share of the step beyond its share of the ideal step.
  auto beyond = [&](double at_ns, double base_ns) {
    return (at_ns - ideal * base_ns) / at.times.step_ns;
  };
  LossAccount account;
  auto term = [&](Loss loss) -> double& { return account.terms[static_cast<std::size_t>(loss)]; };
  term(Loss::exposed_wait) = beyond(at.times.exposed_wait_ns - at.stragglers_ns,
                                    base.times.exposed_wait_ns - base.stragglers_ns);
  term(Loss::stragglers) = beyond(at.stragglers_ns, base.stragglers_ns);
  term(Loss::exposed_transfer) =
      beyond(at.times.exposed_transfer_ns, base.times.exposed_transfer_ns);
  term(Loss::exposed_copy) = beyond(at.times.exposed_copy_ns, base.times.exposed_copy_ns);
  term(Loss::idle) = beyond(at.times.idle_ns, base.times.idle_ns);
  term(Loss::preparation) = beyond(at.times.prepare_ns, base.times.prepare_ns);
  account.slowdown_known = alone.has_value();
  const AccountSide& undisturbed = alone ? *alone : at;
  const double undisturbed_ns = computing_ns(undisturbed.times);
  term(Loss::slowed_compute) = (computing_ns(at.times) - undisturbed_ns) / at.times.step_ns;
  account.clocks_known = undisturbed.sm_clock_mhz && base.sm_clock_mhz;
  const double at_base_clock_ns =
      account.clocks_known
          ? undisturbed_ns * clock_ratio(*undisturbed.sm_clock_mhz, *base.sm_clock_mhz)
          : undisturbed_ns;
  term(Loss::clocks) = (undisturbed_ns - at_base_clock_ns) / at.times.step_ns;
  term(Loss::other) = beyond(at_base_clock_ns, computing_ns(base.times));
  return account;
}

std::vector<Scaling> scalings(const std::vector<StepResult>& results) {
  std::vector<const StepResult*> left;
  for (const StepResult& result : results)
    if (result.step.parts == StepParts::all && !result.processes.empty() &&
        result.data != DataState::wrong)
      left.push_back(&result);
  std::ranges::stable_sort(left, [](const StepResult* a, const StepResult* b) {
    return a->step.ranks.size() < b->step.ranks.size();
  });
  std::vector<Scaling> out;
  while (!left.empty()) {
    const StepResult& base = *left.front();
    Scaling scaling;
    for (const StepResult* one : left)
      if (same_scaling(base, *one))
        if (auto point = point_of(results, base, *one))
          scaling.points.push_back(std::move(*point));
    std::erase_if(left, [&](const StepResult* one) { return same_scaling(base, *one); });
    if (scaling.points.size() < 2 || scaling.points.back().ranks == scaling.points.front().ranks)
      continue;
    scaling.kind = kind_of(scaling.points);
    out.push_back(std::move(scaling));
  }
  return out;
}

std::string verdict_sentence(const ScalingPoint& point) {
  auto percent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  std::string text = fmt::format("at {} ranks {}%", point.ranks, percent(point.efficiency.value));
  if (const Interval* interval = telling(point.efficiency))
    text += fmt::format(" [{}, {}]", percent(interval->low), percent(interval->high));
  else if (point.efficiency.interval)
    text += " (2 processes are too few for an interval)";
  const double lost = 1 - point.efficiency.value;
  if (percent(lost) == "0.0" || lost < 0)
    return text + "; nothing is lost";
  return text + fmt::format("; {}", loss_sentence(point.account, "communication"));
}

std::string loss_sentence(const LossAccount& account, std::string_view slowed_by) {
  const double lost = account.sum();
  using Term = std::pair<double, std::string>;
  auto words = [&](Loss loss, std::string_view name, bool is_lost) {
    if (loss == Loss::slowed_compute)
      return fmt::format("{} {}", is_lost ? "compute slowed by" : "computing beside", slowed_by);
    return std::string(loss == Loss::clocks && !is_lost ? "higher clocks" : name);
  };
  std::vector<Term> losses, gains;
  for (const auto& [loss, name] : enum_names(Loss{})) {
    const double share = account.of(loss);
    if (std::abs(share) < k_least_said)
      continue;
    (share > 0 ? losses : gains).push_back({std::abs(share), words(loss, name, share > 0)});
  }
  for (std::vector<Term>* terms : {&losses, &gains})
    std::stable_sort(terms->begin(), terms->end(),
                     [](const Term& a, const Term& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  double said = 0;
  for (const auto& [share, name] : losses)
    if (share > lost / 10) {
      parts.push_back(fmt::format("{:.1f}{} {}", 100 * share, parts.empty() ? " is" : "", name));
      said += share;
    }
  for (const auto& [share, name] : gains)
    if (share > lost / 10 || said > lost + k_least_said) {
      parts.push_back(fmt::format("minus {:.1f} gained in {}", 100 * share, name));
      said -= share;
    }
  if (parts.empty())
    parts.push_back("no part is 0.1 or more");
  return fmt::format("of the {:.1f}% lost, {}", 100 * lost, fmt::join(parts, ", "));
}

} // namespace ncclprobe::analysis::steps
