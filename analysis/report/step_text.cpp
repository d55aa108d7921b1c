// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_text.h"

namespace ncclprobe::analysis {

Value estimate_text(const std::optional<Estimate>& estimate, double unit, int digits) {
  if (!estimate)
    return nullptr;
  auto number = [&](double value) { return shown(value * unit, {Unit::fixed, digits}); };
  std::string text = number(estimate->value);
  if (const Interval* interval = telling(*estimate))
    text += fmt::format(" [{}, {}]", number(interval->low), number(interval->high));
  return text;
}

std::size_t rank_count(const steps::StepResult& one) {
  return one.step.ranks.size();
}

std::string parts_text(model::StepParts parts) {
  switch (parts) {
  case model::StepParts::compute:
    return "comp.";
  case model::StepParts::communication:
    return "comm.";
  default:
    return std::string(model::to_string(parts));
  }
}

std::vector<std::pair<steps::Loss, std::string>> loss_titles(LossColumns more) {
  using enum steps::Loss;
  std::vector<std::pair<steps::Loss, std::string>> titles{{exposed_wait, "wait"},
                                                          {exposed_transfer, "transfer"}};
  if (more.copy)
    titles.emplace_back(exposed_copy, "copy");
  titles.insert(
      titles.end(),
      {{slowed_compute, "slowed"}, {stragglers, "stragg."}, {preparation, "prep"}, {idle, "idle"}});
  if (more.clocks)
    titles.emplace_back(clocks, "clocks");
  titles.emplace_back(other, "other");
  return titles;
}

} // namespace ncclprobe::analysis
