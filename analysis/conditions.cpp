// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/conditions.h"

#include <algorithm>
#include <array>

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

ConditionSummary summarise_conditions(const model::Run& run) {
  ConditionSummary summary;
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
      }
      std::uint64_t reasons = throttle_reasons(cell);
      if (reasons != 0)
        summary.throttle_reasons = *summary.throttle_reasons | reasons;
      summary.cells += !cell.conditions.empty();
      summary.throttled_cells += reasons != 0;
    }
  }
  return summary;
}

} // namespace ncclprobe::analysis
