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
      const auto [gpu_w, source] = process_power(run, result, process);
      for (std::size_t i = 0; i < gpu_w.size(); ++i)
        of_rank[gpu_w.rank(i)].push_back(gpu_w.value(i));
      figure.processes += !gpu_w.empty();
      if (!gpu_w.empty())
        figure.source = std::max(figure.source, source);
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

ProcessPower process_power(const RunSummary& run, const SettingResult& result,
                           const ProcessTime& process) {
  const CellReadings& readings =
      run.summaries[process.place.trial].cells[process.place.cell].readings;
  auto taking_part = [&](const RankValues& all) {
    RankValues found;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (takes_part(result.label.step(), all.rank(i)))
        found.add(all.rank(i), all.value(i));
    return found;
  };
  RankValues read_w = taking_part(readings.power_w);
  RankValues counted_w = taking_part(readings.counted_power_w);
  if (!counted_w.empty() && counted_w.size() >= read_w.size())
    return {std::move(counted_w), PowerSource::energy_counter};
  return {std::move(read_w), PowerSource::power_readings};
}

} // namespace ncclprobe::analysis
