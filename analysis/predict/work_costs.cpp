// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/work_costs.h"

#include "analysis/results/cell_summary.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::cost_model {
namespace {

using Samples = std::map<std::string, std::vector<double>>;

// For several operations: their total.
struct Size {
  double amount = 0;
  int operations = 0;
  void add(const Work& work) {
    amount += work.amount;
    ++operations;
  }
  double of_each() const { return amount / operations; }
};

std::map<std::pair<model::Activity, Work::Kind>, Size> sizes_of(const StepProgram& program) {
  std::map<std::pair<model::Activity, Work::Kind>, Size> sizes;
  for (const Work& work : program.works())
    sizes[{work.activity, work.kind}].add(work);
  return sizes;
}

// The names that StepProgram gives to a rank's stretches.
std::vector<std::string> names_of(const steps::StepPlan& plan, int rank, bool alike) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const steps::StretchDecl& one : plan.stretches) {
    std::string name = fmt::format("{} {}", model::to_string(one.activity), one.label);
    const int number = model::names_rank(one.ranks, rank) ? ++seen[name] : 0;
    names.push_back(stretch_name(name, number, alike ? -1 : rank));
  }
  return names;
}

Samples stretch_times(const model::CellRecord& record, const model::Schedule& schedule,
                      int world_size, bool alike) {
  Samples samples;
  auto cell = steps::read_steps(schedule, world_size, record.marks);
  if (!cell)
    return samples;
  std::map<int, std::vector<std::string>> names;
  for (const steps::RankStep& step : cell->steps) {
    auto [own, is_new] = names.try_emplace(step.rank);
    if (is_new)
      own->second = names_of(cell->plan, step.rank, alike);
    for (const steps::Stretch& stretch : step.stretches)
      samples[own->second[static_cast<std::size_t>(stretch.declaration)]].push_back(
          static_cast<double>(stretch.span.length()));
  }
  return samples;
}

} // namespace

WorkCosts WorkCosts::measured(const model::Run& run, const steps::StepResult& result,
                              const StepProgram& program) {
  Samples processes; // one value per process
  std::map<int, std::map<std::string, double>> by_trial;
  for (const model::TrialRecord& trial : run.trials) {
    if (result.process_of(trial.spec.id) == nullptr ||
        trial.spec.purpose != model::Purpose::measure)
      continue;
    for (std::size_t i = 0; i < std::min(trial.spec.cells.size(), trial.cells.size()); ++i)
      if (trial.spec.cells[i].label == result.label &&
          setting_name(trial.spec, trial.spec.cells[i]) == result.setting) {
        for (auto& [name, times_ns] : stretch_times(trial.cells[i], trial.spec.cells[i].schedule,
                                                    trial.spec.ranks, program.is_alike()))
          processes[name].push_back(by_trial[trial.spec.id][name] = median(times_ns));
        break; // of a cell that was measured several times, the first
      }
  }
  WorkCosts costs;
  costs.alike_ = program.is_alike();
  for (const Work& work : program.works()) {
    auto times_ns = processes.find(work.stretch);
    if (times_ns == processes.end())
      continue;
    auto [stretch, is_new] = costs.stretches_.try_emplace(work.stretch);
    if (is_new)
      stretch->second = {work.kind, 0, median(times_ns->second), work.activity};
    stretch->second.amount += work.amount;
    ++stretch->second.operations;
  }
  for (const auto& [name, stretch] : costs.stretches_) {
    Sum& sum = costs.sums_[{stretch.activity, stretch.kind}];
    sum.time_ns += stretch.time_ns;
    sum.amount += stretch.amount;
    sum.operations += stretch.operations;
    for (const auto& [trial, times_ns] : by_trial)
      if (auto own = times_ns.find(name); own != times_ns.end())
        sum.process_ns[trial] += own->second;
  }
  for (const auto& [what, sum] : costs.sums_)
    if (sum.amount > 0)
      costs.rates_[what] = sum.time_ns / sum.amount;
  return costs;
}

void WorkCosts::learn_growth(const std::vector<Measured>& steps) {
  for (const auto& [what, own] : sums_) {
    std::vector<WorkPoint> points;
    for (const Measured& step : steps) {
      const auto whole = step.whole->sums_.find(what), alone = step.alone->sums_.find(what);
      if (whole == step.whole->sums_.end() || alone == step.alone->sums_.end() ||
          !(alone->second.amount > 0 && alone->second.time_ns > 0 && whole->second.time_ns > 0))
        continue;
      const auto count = static_cast<double>(alone->second.operations);
      points.push_back({.ranks = step.ranks,
                        .amount = alone->second.amount / count,
                        .time_ns = alone->second.time_ns / count,
                        .in_step_ns = whole->second.time_ns / whole->second.operations,
                        .process_ns = alone->second.process_ns});
    }
    if (!points.empty() && points.back().ranks == steps.back().ranks)
      growth_.insert_or_assign(what, WorkGrowth(std::move(points)));
  }
}

void WorkCosts::set_rate(model::Activity activity, Work::Kind kind, double ns_per_unit) {
  rates_[{activity, kind}] = ns_per_unit;
}

void WorkCosts::learn_least_products(const StepProgram& program) {
  for (const auto& [what, size] : sizes_of(program)) {
    if (what.second != Work::Kind::product)
      continue;
    auto [least, is_new] = least_.try_emplace(what, size.of_each());
    least->second = std::min(least->second, size.of_each());
  }
}

void WorkCosts::take_rates(const WorkCosts& other) {
  rates_.insert(other.rates_.begin(), other.rates_.end()); // keeps existing ones
}

std::optional<double> WorkCosts::rate(model::Activity activity, Work::Kind kind) const {
  auto found = rates_.find({activity, kind});
  return found == rates_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<WorkCosts::Deviation> WorkCosts::product_deviations(model::Activity activity) const {
  std::map<double, std::pair<double, int>> by_amount; // time of all, how many
  for (const auto& [name, stretch] : stretches_)
    if (stretch.activity == activity && stretch.kind == Work::Kind::product && stretch.amount > 0 &&
        stretch.time_ns > 0) {
      auto& [time_ns, count] = by_amount[stretch.amount];
      time_ns += stretch.time_ns;
      ++count;
    }
  std::vector<Deviation> deviations;
  const auto mean = rate(activity, Work::Kind::product);
  for (const auto& [amount, all] : by_amount)
    if (mean && *mean > 0)
      deviations.push_back(
          {amount, std::log(all.first / (amount * all.second) / *mean), all.first});
  return deviations;
}

WorkTimes WorkCosts::of(const StepProgram& program) const {
  std::map<std::string, Size> of_stretch;
  for (const Work& work : program.works())
    of_stretch[work.stretch].add(work);
  const std::map<What, Size> of_activity = sizes_of(program);
  WorkTimes times;
  for (const Work& work : program.works()) {
    if (!(work.amount > 0)) {
      times.ns.push_back(0);
      continue;
    }
    const What what{work.activity, work.kind};
    const auto stretch = stretches_.find(work.stretch);
    const auto rate = rates_.find(what);
    const auto growth = growth_.find(what);
    // The time of that many operations of the measured size, and the ratio of sizes.
    double measured_ns = 0, ratio = 1;
    // With equal numbers of operations it is the same part of the step. A single rank fills no
    // buckets, and its first stretch of the backward pass is all of it.
    if (alike_ && program.is_alike() && stretch != stretches_.end() &&
        stretch->second.kind == work.kind && stretch->second.amount > 0 &&
        stretch->second.operations == of_stretch.at(work.stretch).operations) {
      ratio = of_stretch.at(work.stretch).of_each() /
              (stretch->second.amount / stretch->second.operations);
      measured_ns = stretch->second.time_ns / stretch->second.amount * work.amount / ratio;
    } else if (rate != rates_.end()) {
      if (growth != growth_.end())
        ratio = of_activity.at(what).of_each() / growth->second.base_amount();
      measured_ns = rate->second * work.amount / ratio;
    } else if (work.kind == Work::Kind::spin) {
      measured_ns = work.amount;
    } else {
      times.unknown.insert(work.activity);
    }
    WorkGrowth::Time time{.factor = ratio};
    if (growth != growth_.end())
      time = growth->second.at(ratio);
    else if (const auto least = least_.find(what); least != least_.end())
      time.is_told = of_activity.at(what).of_each() >= (1 - k_same_size) * least->second;
    times.ns.push_back(measured_ns * time.factor);
    times.size_error_ns += measured_ns * std::hypot(time.fit, time.model);
    times.untold_ns += time.is_told ? 0 : times.ns.back();
  }
  return times;
}

} // namespace ncclprobe::analysis::cost_model
