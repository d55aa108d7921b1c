// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>

namespace ncclprobe::worker {

// How many iterations and batches a cell really runs, all ranks alike.
struct Effort {
  int iterations = 1;
  int batches = 1;
  bool operator==(const Effort&) const = default;
};

// The timing as asked for, cut to its budget: first iterations (not below 1), then batches (not
// below k_least_batches, so that a spread can be told). `iteration_ns` is the time of one
// iteration, agreed on by all ranks.
inline constexpr int k_least_batches = 3;
Effort plan_effort(const model::Timing& timing, double iteration_ns);

// Warm-up runs still to do after the first, which took `iteration_ns`: a quarter of the budget at
// most.
int remaining_warmups(const model::Timing& timing, double iteration_ns);

} // namespace ncclprobe::worker
