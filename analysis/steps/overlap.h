// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "analysis/steps/step_results.h"

#include <optional>
#include <vector>

// What running computation and communication side by side gains and costs: the same schedule with
// all of its parts, without communication, without computation. Every process gives one value of
// each figure, as it measured all three.
namespace ncclprobe::analysis::steps {

struct Overlap {
  const StepResult* all = nullptr;
  const StepResult* compute = nullptr;
  const StepResult* communication = nullptr;
  // Step times: T of all parts, K without communication, C without computation. Of T = K + C
  // nothing is gained, of T = max(K, C) all that can be; their medians over processes.
  double serial_ns = 0; // K + C
  double best_ns = 0;   // max(K, C)
  // (K + C - T) / (K + C - max(K, C)); nothing where there is nothing to gain.
  std::optional<Estimate> efficiency;
  // Time in computation (but for what only communication asks for), and time in which anything is
  // transferred: in the whole step / by itself. Nothing if one of the two is not there.
  std::optional<Estimate> compute_slowdown;
  std::optional<Estimate> communication_slowdown;
};

// One for each step that was measured in all three ways in at least one process; with wrong data
// none. Points into `results`.
std::vector<Overlap> overlaps(const std::vector<StepResult>& results);

} // namespace ncclprobe::analysis::steps
