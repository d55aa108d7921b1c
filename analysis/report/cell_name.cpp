// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/cell_name.h"

#include "analysis/report/label_words.h"
#include "analysis/steps/step_results.h"
#include "base/units.h"
#include "model/cell_label.h"

namespace ncclprobe::analysis {

std::string cell_name(const model::CellLabel& label, model::TimingMode mode) {
  if (const auto* step = label.step()) {
    std::string text = printable(steps::describe_step(*step));
    if (step->parts != model::StepParts::all)
      text += fmt::format(", {} alone", model::to_string(step->parts));
    return text;
  }
  std::string text = describe(label);
  if (label.placement == model::Placement::in_place)
    text += ", in place";
  if (mode == model::TimingMode::latency)
    text += ", one at a time";
  return text;
}

std::string cell_name(const SettingResult& result) {
  return cell_name(result.label, result.timing_mode);
}

std::string cell_family(const model::CellLabel& label, model::TimingMode mode) {
  const auto* step = label.step();
  return step ? printable(steps::describe_step(*step)) : cell_name(label, mode);
}

std::string cell_member(const model::CellLabel& label) {
  const auto* step = label.step();
  return step ? step_scope(*step) : cell_size(label);
}

std::optional<std::uint64_t> cell_bytes(const model::CellLabel& label) {
  if (label.step())
    return std::nullopt;
  return label.bytes == 0 && !label.collective() ? std::nullopt : std::optional(label.bytes);
}

std::string cell_size(const model::CellLabel& label) {
  const auto bytes = cell_bytes(label);
  return bytes ? size_text(*bytes) : std::string(k_no_size);
}

std::string cell_in_full(const model::CellLabel& label) {
  const auto* step = label.step();
  return step ? fmt::format("{}, {}", printable(steps::describe_step(*step)), step_scope(*step))
              : fmt::format("{} {}", label.workload(), base::format_bytes(label.bytes));
}

std::string step_scope(const model::StepLabel& step) {
  std::string text = count_of(step.ranks.size(), "rank", "ranks");
  if (step.parts != model::StepParts::all)
    text += fmt::format(", {} alone", model::to_string(step.parts));
  return text;
}

int rank_count(const model::CellLabel& label, int communicator) {
  const auto* step = label.step();
  return step ? static_cast<int>(step->ranks.size()) : communicator;
}

} // namespace ncclprobe::analysis
