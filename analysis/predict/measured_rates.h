// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/step_program.h"
#include "analysis/predict/work_costs.h"
#include "analysis/steps/step_results.h"
#include "model/run.h"

#include <optional>
#include <string>
#include <vector>

// How fast ranks computed in a step that was measured, for a step of another model.
namespace ncclprobe::analysis::cost_model {

// How far, relative, the median of these processes and one further process may lie apart: 95%.
// Nothing for fewer than two.
std::optional<double> half_width_of(const std::vector<double>& times);

// What a process does besides exposed communication, by process.
std::vector<double> rests_of(const steps::StepResult& result);

struct MeasuredRates {
  const steps::StepResult* result = nullptr;
  StepProgram program; // of the measured step
  WorkCosts works;
  double product_flops = 0;  // of its rank, or of all where ranks differ
  bool has_products() const; // forward and backward
};
// Of every whole step with default settings that has good times, as run: first what computes most,
// as its products are the nearest to those of a larger model; then at the most ranks. Points into
// `results`.
std::vector<MeasuredRates> measured_rates(const model::Run& run,
                                          const std::vector<steps::StepResult>& results);

// How far, relative, products of yet another size may lie from the rates of their activity (95%),
// by those of all of these steps; nothing if they have too few sizes.
std::optional<double> spread_of_rates(const std::vector<MeasuredRates>& rates);

// "12.3 Tflop/s forward and 11.0 backward".
std::string rates_in_words(const WorkCosts& works);

} // namespace ncclprobe::analysis::cost_model
