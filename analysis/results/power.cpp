// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/power.h"

#include "analysis/statistics/inference.h"
#include "model/cell_label.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

// Ranks that do not take part in a step draw power too.
bool takes_part(const model::StepLabel* step, int rank) {
  return !step || std::ranges::find(step->ranks, rank) != step->ranks.end();
}

double mean(const std::vector<double>& values) {
  return mean_estimate(values, k_confidence).value;
}

} // namespace

std::vector<PowerFigure> power_figures(const RunSummary& run,
                                       const std::vector<SettingResult>& results) {
  std::vector<PowerFigure> figures;
  for (const SettingResult& result : results) {
    std::map<int, std::vector<double>> of_rank; // one value per process
    PowerFigure figure{.result = &result};
    for (const ProcessTime& process : result.processes) {
      const RankValues power_w = process_power_w(run, result, process);
      for (std::size_t i = 0; i < power_w.size(); ++i)
        of_rank[power_w.rank(i)].push_back(power_w.value(i));
      figure.processes += !power_w.empty();
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

RankValues process_power_w(const RunSummary& run, const SettingResult& result,
                           const ProcessTime& process) {
  const RankValues& all =
      run.summaries[process.place.trial].cells[process.place.cell].readings.power_w;
  RankValues found;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (takes_part(result.label.step(), all.rank(i)))
      found.add(all.rank(i), all.value(i));
  return found;
}

} // namespace ncclprobe::analysis
