// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/steps/step_results.h"

#include <optional>
#include <vector>

// Gain and cost of overlapping computation and communication: compares the same schedule with all
// of its parts, without communication, and without computation. Every process gives one value of
// each figure, because it measured all three.
namespace ncclprobe::analysis::steps {

struct Overlap {
  const StepResult* all = nullptr;
  const StepResult* compute = nullptr;
  const StepResult* communication = nullptr;
  // Step times: T of all parts, K without communication, C without computation. With T = K + C
  // nothing is gained, with T = max(K, C) everything possible; medians over processes.
  double serial_ns = 0; // K + C
  double best_ns = 0;   // max(K, C)
  // (K + C - T) / (K + C - max(K, C)); nothing if no gain is possible.
  std::optional<Estimate> efficiency;
  // Time in computation (without work that only communication needs), and time in which anything is
  // transferred: in the whole step / alone. Nothing if one of the two is missing.
  std::optional<Estimate> compute_slowdown;
  std::optional<Estimate> communication_slowdown;
};

// One for each step that at least one process measured in all three ways; none with wrong data.
// Points into `results`.
std::vector<Overlap> overlaps(const std::vector<StepResult>& results);

} // namespace ncclprobe::analysis::steps
