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

void append_loss_columns(std::vector<base::TextTable::Column>& columns, bool with_copy) {
  // One column more, so shorter titles.
  const std::vector<const char*> names =
      with_copy ? std::vector{"wait", "trans.", "copy", "slow", "strag", "prep", "idle", "other"}
                : std::vector{"wait", "transfer", "slowed", "stragg.", "prep", "idle", "other"};
  for (const char* name : names)
    columns.push_back({name});
  columns.push_back({"sum"});
}

void append_loss_cells(std::vector<std::string>& cells, const steps::LossAccount& account,
                       bool with_copy) {
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    if (with_copy || loss != steps::Loss::exposed_copy)
      cells.push_back(percent_text(account.of(loss)));
  cells.push_back(percent_text(account.sum()));
}

} // namespace ncclprobe::analysis
