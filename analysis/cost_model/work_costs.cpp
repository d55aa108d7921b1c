// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/work_costs.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::cost_model {
namespace {

using Samples = std::map<std::string, std::vector<double>>;

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
  Samples processes; // one value a process
  for (const model::TrialRecord& trial : run.trials) {
    if (result.process_of(trial.spec.id) == nullptr ||
        trial.spec.purpose != model::Purpose::measure)
      continue;
    for (std::size_t i = 0; i < std::min(trial.spec.cells.size(), trial.cells.size()); ++i)
      if (trial.spec.cells[i].label == result.label)
        for (auto& [name, times_ns] : stretch_times(trial.cells[i], trial.spec.cells[i].schedule,
                                                    trial.spec.ranks, program.is_alike()))
          processes[name].push_back(median(times_ns));
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
  }
  std::map<std::pair<model::Activity, Work::Kind>, std::pair<double, double>> sums;
  for (const auto& [name, stretch] : costs.stretches_) {
    auto& [time_ns, amount] = sums[{stretch.activity, stretch.kind}];
    time_ns += stretch.time_ns;
    amount += stretch.amount;
  }
  for (const auto& [what, sum] : sums)
    if (sum.second > 0)
      costs.rates_[what] = sum.first / sum.second;
  return costs;
}

void WorkCosts::set_rate(model::Activity activity, Work::Kind kind, double ns_per_unit) {
  rates_[{activity, kind}] = ns_per_unit;
}

void WorkCosts::take_rates(const WorkCosts& other) {
  rates_.insert(other.rates_.begin(), other.rates_.end()); // leaves those that are there
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

std::vector<double> WorkCosts::of(const StepProgram& program,
                                  std::set<model::Activity>& unknown) const {
  std::vector<double> times_ns;
  for (const Work& work : program.works()) {
    const auto stretch = stretches_.find(work.stretch);
    const auto rate = rates_.find({work.activity, work.kind});
    if (alike_ && program.is_alike() && stretch != stretches_.end() &&
        stretch->second.kind == work.kind && stretch->second.amount > 0) {
      times_ns.push_back(stretch->second.time_ns * work.amount / stretch->second.amount);
    } else if (rate != rates_.end()) {
      times_ns.push_back(rate->second * work.amount);
    } else if (work.kind == Work::Kind::spin) {
      times_ns.push_back(work.amount);
    } else {
      unknown.insert(work.activity);
      times_ns.push_back(0);
    }
  }
  return times_ns;
}

} // namespace ncclprobe::analysis::cost_model
