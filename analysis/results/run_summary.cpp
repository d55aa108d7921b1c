// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/run_summary.h"

#include <algorithm>

namespace ncclprobe::analysis {

RunSummary::RunSummary(model::RunHeader run_header, std::size_t trial_count) {
  header = std::move(run_header);
  trials.resize(trial_count);
  summaries.resize(trial_count);
  summarisers_.resize(trial_count);
}

RunSummary::RunSummary(const model::Run& run) : RunSummary(run.header, run.trials.size()) {
  for (std::size_t i = 0; i < run.trials.size(); ++i)
    add(i, run.trials[i]);
}

void RunSummary::add_cell(std::size_t index, const model::TrialSpec& spec, std::size_t cell,
                          model::CellRecord& record) {
  std::optional<TrialSummariser>& summariser = summarisers_[index];
  if (!summariser)
    summariser.emplace(spec);
  summariser->add(spec, cell, record);
}

void RunSummary::add(std::size_t index, model::TrialRecord trial) {
  if (!summarisers_[index])
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c)
      add_cell(index, trial.spec, c, trial.cells[c]);
  if (summarisers_[index])
    summaries[index] = summarisers_[index]->summary();
  summarisers_[index].reset();
  summaries[index].cells.resize(trial.cells.size());
  trials[index] = std::move(trial);
}

} // namespace ncclprobe::analysis
