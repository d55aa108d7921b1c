// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/conditions.h"

#include "analysis/rank_gpu.h"
#include "model/outcome.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace ncclprobe::analysis {
namespace {

void include(Range& range, const std::optional<std::int32_t>& value) {
  if (!value)
    return;
  if (!range)
    range = {*value, *value};
  range->first = std::min(range->first, *value);
  range->second = std::max(range->second, *value);
}

} // namespace

std::uint64_t throttle_reasons(const model::CellRecord& record) {
  std::uint64_t reasons = 0;
  for (const model::Condition& condition : record.conditions)
    if (condition.when != model::Condition::When::before)
      reasons |= condition.throttle_reasons.value_or(0);
  return reasons & model::k_throttled_bits;
}

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

// What a GPU counted since the driver's start: when it was first and last read.
struct Count {
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> last;

  void add(const std::optional<std::uint64_t>& value) {
    if (!first)
      first = value;
    if (value)
      last = value;
  }
  // A driver that was started anew counts from 0.
  std::uint64_t growth() const { return first && *last > *first ? *last - *first : 0; }
};

void add_memory_errors(const model::TrialRecord& trial, ConditionSummary& summary) {
  std::map<int, std::pair<Count, Count>> counts; // corrected, uncorrected
  for (const model::CellRecord& cell : trial.cells)
    for (const model::Condition& condition : cell.conditions) {
      auto& [corrected, uncorrected] = counts[condition.rank];
      corrected.add(condition.corrected_errors);
      uncorrected.add(condition.uncorrected_errors);
    }
  for (const auto& [rank, of_rank] : counts) {
    const auto& [corrected, uncorrected] = of_rank;
    if (corrected.growth() + uncorrected.growth() == 0)
      continue;
    summary.memory_errors[rank].corrected += corrected.growth();
    summary.memory_errors[rank].uncorrected += uncorrected.growth();
  }
}

// How many of the run's ranks are on the GPU of each rank: MIG and MPS let several be there.
std::map<int, int> ranks_beside(const model::RunHeader& header) {
  std::map<std::pair<int, std::string>, int> ranks_on;
  for (const model::RankPlace& place : header.ranks)
    if (const model::Gpu* gpu = gpu_of(header, place))
      ++ranks_on[{place.host, gpu->pci_bus_id}];
  std::map<int, int> beside;
  for (const model::RankPlace& place : header.ranks)
    if (const model::Gpu* gpu = gpu_of(header, place); gpu != nullptr && !gpu->pci_bus_id.empty())
      beside[place.rank] = ranks_on.at({place.host, gpu->pci_bus_id});
  return beside;
}

} // namespace

ConditionSummary summarise_conditions(const model::Run& run) {
  ConditionSummary summary;
  const std::map<int, int> beside = ranks_beside(run.header);
  auto shared = [&](const model::Condition& condition) {
    auto own = beside.find(condition.rank);
    return condition.processes.value_or(0) > (own == beside.end() ? 1 : own->second);
  };
  std::set<int> ranks;
  for (const model::TrialRecord& trial : run.trials) {
    if (trial.spec.purpose != model::Purpose::measure)
      continue;
    add_memory_errors(trial, summary);
    for (const model::CellRecord& cell : trial.cells) {
      for (const model::Condition& condition : cell.conditions) {
        include(summary.sm_clock_mhz, condition.sm_clock_mhz);
        include(summary.temperature_c, condition.temperature_c);
        include(summary.power_mw, condition.power_mw);
        if (condition.throttle_reasons && !summary.throttle_reasons)
          summary.throttle_reasons = 0;
        if (shared(condition))
          ranks.insert(condition.rank);
      }
      summary.shared_cells += std::ranges::any_of(cell.conditions, shared);
      summary.counted_cells += std::ranges::any_of(
          cell.conditions, [](const auto& one) { return one.processes.has_value(); });
      std::uint64_t reasons = throttle_reasons(cell);
      if (reasons != 0)
        summary.throttle_reasons = *summary.throttle_reasons | reasons;
      summary.cells += !cell.conditions.empty();
      summary.throttled_cells += reasons != 0;
    }
  }
  summary.shared_ranks.assign(ranks.begin(), ranks.end());
  return summary;
}

std::string disturbances(const ConditionSummary& summary) {
  std::vector<std::string> all;
  if (!summary.shared_ranks.empty())
    all.push_back(fmt::format(
        "other processes were on the GPU{} of rank{} {} around {} of {} "
        "cells, which disturbs what is measured",
        summary.shared_ranks.size() == 1 ? "" : "s", summary.shared_ranks.size() == 1 ? "" : "s",
        model::format_ranks(summary.shared_ranks), summary.shared_cells, summary.counted_cells));
  for (const auto& [rank, errors] : summary.memory_errors)
    all.push_back(fmt::format("the GPU of rank {} counted {} corrected and {} uncorrected memory "
                              "errors during the run",
                              rank, errors.corrected, errors.uncorrected));
  return fmt::format("{}", fmt::join(all, "; "));
}

} // namespace ncclprobe::analysis
