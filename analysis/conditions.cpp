// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/conditions.h"

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

bool shared(const model::Condition& condition) {
  return condition.processes.value_or(0) > 1;
}

} // namespace

ConditionSummary summarise_conditions(const model::Run& run) {
  ConditionSummary summary;
  std::map<int, std::pair<Count, Count>> errors; // corrected, uncorrected
  std::set<int> ranks;
  for (const model::TrialRecord& trial : run.trials) {
    if (trial.spec.purpose != model::Purpose::measure)
      continue;
    for (const model::CellRecord& cell : trial.cells) {
      for (const model::Condition& condition : cell.conditions) {
        include(summary.sm_clock_mhz, condition.sm_clock_mhz);
        include(summary.temperature_c, condition.temperature_c);
        include(summary.power_mw, condition.power_mw);
        if (condition.throttle_reasons && !summary.throttle_reasons)
          summary.throttle_reasons = 0;
        auto& [corrected, uncorrected] = errors[condition.rank];
        corrected.add(condition.corrected_errors);
        uncorrected.add(condition.uncorrected_errors);
        if (shared(condition))
          ranks.insert(condition.rank);
      }
      summary.shared_cells += std::any_of(cell.conditions.begin(), cell.conditions.end(), shared);
      std::uint64_t reasons = throttle_reasons(cell);
      if (reasons != 0)
        summary.throttle_reasons = *summary.throttle_reasons | reasons;
      summary.cells += !cell.conditions.empty();
      summary.throttled_cells += reasons != 0;
    }
  }
  summary.shared_ranks.assign(ranks.begin(), ranks.end());
  for (const auto& [rank, counts] : errors)
    if (counts.first.growth() + counts.second.growth() > 0)
      summary.memory_errors[rank] = {counts.first.growth(), counts.second.growth()};
  return summary;
}

std::string disturbances(const ConditionSummary& summary) {
  std::vector<std::string> all;
  if (!summary.shared_ranks.empty())
    all.push_back(fmt::format(
        "other processes were on the GPU{} of rank{} {} around {} of {} "
        "cells, which disturbs what is measured",
        summary.shared_ranks.size() == 1 ? "" : "s", summary.shared_ranks.size() == 1 ? "" : "s",
        model::format_ranks(summary.shared_ranks), summary.shared_cells, summary.cells));
  for (const auto& [rank, errors] : summary.memory_errors)
    all.push_back(fmt::format("the GPU of rank {} counted {} corrected and {} uncorrected memory "
                              "errors during the run",
                              rank, errors.corrected, errors.uncorrected));
  return fmt::format("{}", fmt::join(all, "; "));
}

} // namespace ncclprobe::analysis
