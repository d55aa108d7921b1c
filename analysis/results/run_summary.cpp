// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/run_summary.h"

#include "analysis/results/cell_summary.h"
#include "analysis/results/label_key.h"
#include "model/cell_label.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

// For cells that the trial measured several times: its cells that are one measurement.
std::vector<std::vector<std::size_t>> repeated_cells(const model::TrialRecord& trial) {
  using Key = std::tuple<LabelKey, model::TimingMode, int, std::string>;
  std::map<Key, std::vector<std::size_t>> by_key;
  for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
    const model::Cell& cell = trial.spec.cells[c];
    if (is_measured(trial.cells[c]))
      by_key[{LabelKey{&cell.label}, cell.timing.mode, communicator_size(trial.spec, cell),
              model::label_of(cell.settings)}]
          .push_back(c);
  }
  std::vector<std::vector<std::size_t>> repeated;
  for (auto& [key, cells] : by_key)
    if (cells.size() > 1)
      repeated.push_back(std::move(cells));
  return repeated;
}

// As if the later cells' batches followed those of the earlier ones.
std::optional<CellTime> time_together(const model::TrialRecord& trial,
                                      const std::vector<std::size_t>& cells) {
  std::vector<model::Sample> samples;
  for (std::size_t c : cells) {
    std::int32_t first_batch = 0;
    for (const model::Sample& sample : samples)
      first_batch = std::max(first_batch, sample.batch + 1);
    for (model::Sample sample : trial.cells[c].samples) {
      sample.batch += first_batch;
      samples.push_back(sample);
    }
  }
  return cell_time(samples);
}

TrialSummary summary_of(const model::TrialRecord& trial) {
  TrialSummary summary;
  summary.cells.resize(trial.cells.size());
  for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
    const model::Cell& cell = trial.spec.cells[c];
    const model::CellRecord& record = trial.cells[c];
    if (is_measured(record))
      summary.cells[c].time = cell_time(record.samples);
    summary.cells[c].readings = readings_of(cell, record);
    if (cell.timing.mode == model::TimingMode::steps || !record.marks.empty())
      summary.steps.emplace(c, steps::step_figures(cell.schedule, trial.spec.ranks, record.marks));
  }
  for (const std::vector<std::size_t>& cells : repeated_cells(trial))
    summary.repeated.emplace(cells.front(), time_together(trial, cells));
  summary.memory_errors = memory_errors(trial);
  return summary;
}

void drop_details(model::TrialRecord& trial) {
  for (std::size_t c = 0; c < trial.cells.size(); ++c) {
    model::CellRecord& record = trial.cells[c];
    // Not "= {}", which keeps the memory.
    record.conditions = std::vector<model::Condition>();
    record.marks = std::vector<model::Mark>();
    if (c >= trial.spec.cells.size() || !trial.spec.cells[c].label.p2p())
      record.samples = std::vector<model::Sample>();
  }
}

} // namespace

RunSummary::RunSummary(model::RunHeader run_header, std::size_t trial_count) {
  header = std::move(run_header);
  trials.resize(trial_count);
  summaries.resize(trial_count);
}

RunSummary::RunSummary(const model::Run& run) : RunSummary(run.header, run.trials.size()) {
  for (std::size_t i = 0; i < run.trials.size(); ++i)
    add(i, run.trials[i]);
}

void RunSummary::add(std::size_t index, model::TrialRecord trial) {
  summaries[index] = summary_of(trial);
  drop_details(trial);
  trials[index] = std::move(trial);
}

} // namespace ncclprobe::analysis
