// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/conditions.h"

#include "analysis/results/rank_gpu.h"
#include "base/name_ranks.h"
#include "model/outcome.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace ncclprobe::analysis {

std::string throttle_text(std::uint64_t reasons) {
  // nvml.h, nvmlClocksEventReason*
  static constexpr std::array<std::pair<std::uint64_t, std::string_view>, 5> k_names{
      {{0x4, "software power cap"},
       {0x8, "hardware slowdown"},
       {0x20, "software thermal slowdown"},
       {0x40, "hardware thermal slowdown"},
       {0x80, "hardware power brake"}}};
  std::string text;
  for (const auto& [bit, name] : k_names)
    if (reasons & bit)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

namespace {

// How many of the run's ranks use the GPU of each rank: with MIG and MPS there may be several.
std::map<int, int> ranks_beside(const model::RunHeader& header) {
  std::map<std::pair<int, std::string>, int> ranks_on;
  for (const model::RankPlace& place : header.ranks)
    if (const model::CudaDevice* gpu = gpu_of(header, place))
      ++ranks_on[{place.host, gpu->pci_bus_id}];
  std::map<int, int> beside;
  for (const model::RankPlace& place : header.ranks)
    if (const model::CudaDevice* gpu = gpu_of(header, place);
        gpu != nullptr && !gpu->pci_bus_id.empty())
      beside[place.rank] = ranks_on.at({place.host, gpu->pci_bus_id});
  return beside;
}

} // namespace

ConditionSummary summarise_conditions(const RunSummary& run) {
  ConditionSummary summary;
  const std::map<int, int> beside = ranks_beside(run.header);
  auto shared = [&](const std::pair<int, std::int32_t>& processes) {
    auto own = beside.find(processes.first);
    return processes.second > (own == beside.end() ? 1 : own->second);
  };
  std::set<int> ranks;
  for (std::size_t t = 0; t < run.trials.size(); ++t) {
    if (run.trials[t].spec.purpose != model::Purpose::measure)
      continue;
    for (const auto& [rank, errors] : run.summaries[t].memory_errors) {
      summary.memory_errors[rank].corrected += errors.corrected;
      summary.memory_errors[rank].uncorrected += errors.uncorrected;
    }
    for (const CellSummary& cell : run.summaries[t].cells) {
      const CellReadings& readings = cell.readings;
      include(summary.sm_clock_mhz, readings.sm_clock_mhz);
      include(summary.temperature_c, readings.temperature_c);
      include(summary.power_mw, readings.power_mw);
      if (readings.throttling_known)
        summary.throttle_reasons = summary.throttle_reasons.value_or(0) | readings.throttle_reasons;
      for (const auto& processes : readings.processes)
        if (shared(processes))
          ranks.insert(processes.first);
      summary.shared_cells += std::ranges::any_of(readings.processes, shared);
      summary.counted_cells += readings.processes_counted;
      summary.cells += readings.any;
      summary.throttled_cells += readings.throttle_reasons != 0;
    }
  }
  summary.shared_ranks.assign(ranks.begin(), ranks.end());
  return summary;
}

std::string disturbances(const ConditionSummary& summary) {
  std::vector<std::string> all;
  if (!summary.shared_ranks.empty())
    all.push_back(fmt::format(
        "other processes used the GPU{} of {} around {} of {} cells, which disturbs the "
        "measurement",
        summary.shared_ranks.size() == 1 ? "" : "s", base::name_ranks(summary.shared_ranks),
        summary.shared_cells, summary.counted_cells));
  for (const auto& [rank, errors] : summary.memory_errors)
    all.push_back(fmt::format("the GPU of rank {} counted {} corrected and {} uncorrected memory "
                              "errors during the run",
                              rank, errors.corrected, errors.uncorrected));
  return fmt::format("{}", fmt::join(all, "; "));
}

} // namespace ncclprobe::analysis
