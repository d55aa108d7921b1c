// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_text.h"

namespace ncclprobe::analysis {

std::string ms_text(double ns) {
  const double ms = ns / 1e6;
  return ms < 0.001 && ms > 0 ? "<.001"
         : ms < 1             ? fmt::format("{:.3f}", ms)
         : ms < 100           ? fmt::format("{:.2f}", ms)
                              : fmt::format("{:.1f}", ms);
}

std::string percent_text(double share) {
  std::string text = fmt::format("{:.1f}", 100 * share);
  return text == "-0.0" ? "0.0" : text;
}

std::string ranks_text(const steps::StepResult& one) {
  return std::to_string(one.step.ranks.size());
}

std::string parts_text(workload::StepParts parts) {
  switch (parts) {
  case workload::StepParts::compute:
    return "comp.";
  case workload::StepParts::communication:
    return "comm.";
  default:
    return std::string(model::to_string(parts));
  }
}

void append_loss_columns(std::vector<base::TextTable::Column>& columns, LossColumns more) {
  auto add = [&](const char* name, const char* where_tight) {
    columns.push_back({more.any() ? where_tight : name});
  };
  add("wait", "wait");
  add("transfer", "trans.");
  if (more.copy)
    add("copy", "copy");
  add("slowed", "slow");
  add("stragg.", "strag");
  add("prep", "prep");
  add("idle", "idle");
  if (more.clocks)
    add("clocks", "clock");
  add("other", "other");
  add("sum", "sum");
}

void append_loss_cells(std::vector<std::string>& cells, const steps::LossAccount& account,
                       LossColumns more) {
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    if ((more.copy || loss != steps::Loss::exposed_copy) &&
        (more.clocks || loss != steps::Loss::clocks))
      cells.push_back(percent_text(account.of(loss)));
  cells.push_back(percent_text(account.sum()));
}

} // namespace ncclprobe::analysis
