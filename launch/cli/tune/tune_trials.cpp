// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_trials.h"

#include "analysis/results/cell_time.h"
#include "workload/cell_tuner.h"
#include "workload/expected_time.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::cli {

using namespace analysis::search;

namespace {

model::Timing scaled(model::Timing timing, double effort) {
  timing.batches = std::max(1, static_cast<int>(std::lround(timing.batches * effort)));
  timing.budget_ns = static_cast<std::int64_t>(static_cast<double>(timing.budget_ns) * effort);
  return timing;
}

CellResult result_of(const model::CellRecord& cell) {
  const auto time = analysis::cell_time(cell.samples);
  if (cell.check.wrong > 0)
    return {model::OutcomeKind::wrong_data, 0};
  if (!cell.outcome.ok())
    return {cell.outcome.kind, 0};
  return time ? CellResult{model::OutcomeKind::ok, time->over_batches_ns.median}
              : CellResult{model::OutcomeKind::failed, 0};
}

} // namespace

CandidateSettings settings_of(const workload::TuningSpace& space, const Candidate& candidate) {
  CandidateSettings settings;
  for (std::size_t i = 0; i < candidate.size(); ++i) {
    if (candidate[i] == 0)
      continue;
    const workload::TuningParameter& parameter = space.parameters[i];
    const model::Setting one{parameter.name,
                             parameter.values[static_cast<std::size_t>(candidate[i])]};
    switch (parameter.scope) {
    case workload::TuningScope::process:
      settings.variables.push_back(one);
      break;
    case workload::TuningScope::cell:
      settings.of_cells.push_back(one);
      break;
    case workload::TuningScope::step:
      settings.step_options.push_back(one);
      break;
    }
  }
  return settings;
}

std::vector<model::Setting> all_of(const CandidateSettings& settings) {
  std::vector<model::Setting> all = settings.variables;
  all.insert(all.end(), settings.of_cells.begin(), settings.of_cells.end());
  all.insert(all.end(), settings.step_options.begin(), settings.step_options.end());
  return all;
}

TuneTrials::TuneTrials(workload::TuningSpace space, model::TrialSpec of_defaults,
                       std::map<std::string, std::string> environment, TuneCells& cells)
    : space_(std::move(space)), of_defaults_(std::move(of_defaults)),
      environment_(std::move(environment)), cells_(cells) {}

model::TrialSpec TuneTrials::spec(const TrialRequest& request) const {
  model::TrialSpec trial = of_defaults_;
  trial.process.common = settings_of(space_, request.process).variables;
  trial.name = model::label_of(trial.under_test());
  trial.cells.clear();
  for (const CellRequest& asked : request.cells) {
    const CandidateSettings settings = settings_of(space_, asked.candidate);
    // The search asks only for what is possible.
    model::Cell cell = base::value_or_throw(cells_.with(asked.target, settings.step_options));
    cell.settings = settings.of_cells;
    cell.timing = scaled(cell.timing, request.effort);
    trial.cells.push_back(std::move(cell));
  }
  workload::ask_for_tuner(trial, environment_);
  return trial;
}

model::TrialSpec TuneTrials::numbered(model::TrialSpec trial, int id) {
  trial.id = id;
  trial.replicate = replicates_[trial.name]++;
  return trial;
}

model::TrialSpec TuneTrials::trial(const TrialRequest& request, int id) {
  return numbered(spec(request), id);
}

double TuneTrials::planned_s(const TrialRequest& request) const {
  const model::TrialSpec trial = spec(request);
  double ns = workload::expected_start_ns(trial);
  for (std::size_t i = 0; i < trial.cells.size(); ++i) {
    const auto known = default_ns_.find(request.cells[i].target);
    ns += workload::expected_cell_ns(trial, trial.cells[i],
                                     known == default_ns_.end() ? std::nullopt
                                                                : std::optional(known->second));
  }
  return ns / 1e9;
}

double TuneTrials::expected_s(const TrialRequest& request) const {
  return planned_s(request) * slowness();
}

void TuneTrials::learn(const TrialRequest& request, const TrialResult& result) {
  for (std::size_t i = 0; i < result.cells.size(); ++i)
    if (result.cells[i].outcome == model::OutcomeKind::ok &&
        std::ranges::all_of(request.cells[i].candidate, [](int value) { return value == 0; }))
      default_ns_[request.cells[i].target] = result.cells[i].time_ns;
  spent_s_ += result.seconds;
  planned_s_ += planned_s(request);
}

model::TrialSpec TuneTrials::delivered(const CandidateSettings& settings, int id) {
  model::TrialSpec trial = of_defaults_;
  trial.process.common = settings.variables;
  trial.name = model::label_of(trial.under_test());
  for (std::size_t target = 0; target < trial.cells.size(); ++target)
    trial.cells[target] = base::value_or_throw(cells_.with(target, settings.step_options));
  return numbered(std::move(trial), id);
}

std::vector<analysis::tune::FailedCell> TuneTrials::failed_cells(const model::TrialRecord& trial) {
  std::vector<analysis::tune::FailedCell> failed;
  for (std::size_t i = 0; i < trial.cells.size(); ++i) {
    const model::CellRecord& cell = trial.cells[i];
    if (cell.check.wrong > 0)
      failed.push_back({i, {model::OutcomeKind::wrong_data, cell.check.first_wrong, {}}});
    else if (!cell.outcome.ok() && cell.outcome.kind != model::OutcomeKind::not_run)
      failed.push_back({i, cell.outcome});
  }
  return failed;
}

TrialResult TuneTrials::result(const model::TrialRecord& trial) {
  TrialResult result;
  for (const model::CellRecord& cell : trial.cells)
    result.cells.push_back(result_of(cell));
  // Where no cell is to blame, all are: the processes did not start, or did not connect.
  if (!trial.outcome.ok() && std::ranges::all_of(result.cells, [](const CellResult& one) {
        return one.outcome == model::OutcomeKind::not_run;
      }))
    for (CellResult& cell : result.cells)
      cell.outcome = trial.outcome.kind;
  result.seconds = static_cast<double>(trial.total_ns) / 1e9;
  return result;
}

} // namespace ncclprobe::cli
