// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/power.h"

#include "analysis/inference.h"
#include "workload/step_label.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using When = model::Condition::When;

// Ranks that only look on while a step is trained draw power of their own.
bool takes_part(const SettingResult& result, int rank) {
  auto step = workload::read_step_label(result.label);
  return !step || std::find(step->ranks.begin(), step->ranks.end(), rank) != step->ranks.end();
}

double mean(const std::vector<double>& values) {
  return mean_estimate(values, k_confidence).value;
}

// By rank: its readings that a running cell alone stands behind, W.
std::map<int, std::vector<double>> readings_w(const model::CellRecord& record) {
  std::map<int, std::int64_t> began_ns;
  for (const model::Condition& one : record.conditions)
    if (one.when == When::before)
      began_ns[one.rank] = one.at_ns;
  std::map<int, std::vector<double>> found;
  for (const model::Condition& one : record.conditions)
    if (one.when != When::before && one.power_mw &&
        one.at_ns - began_ns[one.rank] >= k_power_window_ns)
      found[one.rank].push_back(*one.power_mw / 1e3);
  return found;
}

// The cell of this trial that went into `result`; nullptr if there is none.
const model::CellRecord* record_of(const model::TrialRecord& trial, const SettingResult& result) {
  for (std::size_t i = 0; i < std::min(trial.cells.size(), trial.spec.cells.size()); ++i) {
    const model::Cell& cell = trial.spec.cells[i];
    if (cell.label == result.label && cell.timing.mode == result.timing_mode &&
        setting_name(trial.spec, cell) == result.setting &&
        communicator_size(trial.spec, cell) == result.ranks)
      return &trial.cells[i];
  }
  return nullptr;
}

} // namespace

std::vector<PowerFigure> power_figures(const model::Run& run,
                                       const std::vector<SettingResult>& results) {
  std::map<int, const model::TrialRecord*> trials;
  for (const model::TrialRecord& trial : run.trials)
    trials[trial.spec.id] = &trial;
  std::vector<PowerFigure> figures;
  for (const SettingResult& result : results) {
    std::map<int, std::vector<double>> of_rank; // a value a process
    PowerFigure figure{.result = &result};
    for (const ProcessTime& process : result.processes) {
      auto trial = trials.find(process.trial);
      const model::CellRecord* record =
          trial == trials.end() ? nullptr : record_of(*trial->second, result);
      if (record == nullptr)
        continue;
      auto readings = readings_w(*record);
      std::erase_if(readings, [&](const auto& one) { return !takes_part(result, one.first); });
      figure.processes += !readings.empty();
      for (const auto& [rank, values] : readings)
        of_rank[rank].push_back(mean(values));
    }
    if (of_rank.empty())
      continue;
    for (const auto& [rank, values] : of_rank) {
      figure.rank_w[rank] = mean(values);
      figure.gpu_w += figure.rank_w[rank] / static_cast<double>(of_rank.size());
    }
    if (result.busbw_gb_per_s && figure.gpu_w > 0 && result.data != DataState::wrong)
      figure.busbw_per_w = *result.busbw_gb_per_s / figure.gpu_w;
    figures.push_back(std::move(figure));
  }
  return figures;
}

} // namespace ncclprobe::analysis
