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

// Compute rates of a measured step, for a step of another model.
namespace ncclprobe::analysis::cost_model {

// The relative distance (95%) between the median of these processes and one further process.
// Nothing for fewer than two.
std::optional<double> half_width_of(const std::vector<double>& times);

// Each process's time except exposed communication.
std::vector<double> rests_of(const steps::StepResult& result);

struct MeasuredRates {
  const steps::StepResult* result = nullptr;
  StepProgram program; // of the measured step
  WorkCosts works;
  double product_flops = 0;  // of its rank, or of all if ranks differ
  bool has_products() const; // forward and backward
};
// Of every whole step with default settings and valid times: first the step with the most
// computing, whose products are closest to those of a larger model; then the one with the most
// ranks. Points into `results`.
std::vector<MeasuredRates> measured_rates(const model::Run& run,
                                          const std::vector<steps::StepResult>& results);

// How far, relative, the rates of products of another size may differ from their activity's rate
// (95%), estimated from all of these steps; nothing if they have too few sizes.
std::optional<double> spread_of_rates(const std::vector<MeasuredRates>& rates);

// "12.3 Tflop/s forward and 11.0 backward".
std::string rates_in_words(const WorkCosts& works);

} // namespace ncclprobe::analysis::cost_model
