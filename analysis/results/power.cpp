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
    const auto* step = result.label.step();
    for (const ProcessTime& process : result.processes) {
      const RankValues& power_w =
          run.summaries[process.place.trial].cells[process.place.cell].readings.power_w;
      bool found = false;
      for (std::size_t i = 0; i < power_w.size(); ++i) {
        if (!takes_part(step, power_w.rank(i)))
          continue;
        of_rank[power_w.rank(i)].push_back(power_w.value(i));
        found = true;
      }
      figure.processes += found;
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
