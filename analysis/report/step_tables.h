// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"
#include "analysis/steps/overlap.h"
#include "analysis/steps/product_alignment.h"
#include "analysis/steps/scaling.h"

#include <optional>
#include <vector>

// The tables of training steps, for machines and for people.
namespace ncclprobe::analysis {

// A step with related data.
struct StepRow {
  const steps::StepResult* step = nullptr;
  const Comparison* against = nullptr; // the default
  const steps::Overlap* overlap = nullptr;
  std::optional<steps::ProductAlignment> products;
  std::optional<int> channels; // the most that NCCL used, from the setting's companion trial
};

// The objects to which the tables point. The run's figures must stay.
struct StepTableData {
  explicit StepTableData(const RunFigures& run);
  StepTableData(const StepTableData&) = delete;
  StepTableData& operator=(const StepTableData&) = delete;

  const std::vector<steps::Overlap> overlaps;
  std::vector<StepRow> rows; // as RunFigures::steps
};

// Times, shares and settings of all steps. For people the number of ranks is "n", the parts "part
// of it", the setting "setting".
TablePtr steps_table(const std::vector<StepRow>& rows, bool synthetic);
TablePtr overlap_table(const std::vector<steps::Overlap>& overlaps, bool synthetic);
TablePtr scaling_table(std::vector<steps::Scaling> scalings, bool synthetic);
TablePtr points_table(const steps::Scaling& scaling);  // of one scaling
TablePtr buckets_table(const steps::StepResult& step); // of one step

// Columns that identify a row's step, for machines; `step_of(row)` is its StepResult.
template <typename Row, typename StepOf>
void add_step(TableOf<Row>& table, bool synthetic, StepOf step_of) {
  auto add = [&](const char* key, auto get) {
    table.add(key, [=](const Row& row) -> Value { return get(step_of(row)); });
  };
  using Step = const steps::StepResult&;
  add("synthetic", [=](Step) { return synthetic; });
  add("setting", [](Step one) { return one.setting; });
  add("is_default", [](Step one) { return one.is_default; });
  add("workload", [](Step one) { return one.label.workload(); });
  add("model", [](Step one) { return one.step.model; });
  add("type", [](Step one) { return one.label.type; });
  add("batch", [](Step one) { return one.step.batch; });
  add("sequence", [](Step one) { return one.step.sequence; });
  add("options", [](Step one) { return one.step.options.words(); });
  add("ranks", [](Step one) { return one.step.ranks; });
  add("parts", [](Step one) { return one.step.parts; });
  add("bytes", [](Step one) { return one.label.bytes; });
}

// In milliseconds, with six digits.
inline double six_digits_ms(double ns) {
  return six_digits(ns / 1e6);
}

} // namespace ncclprobe::analysis
