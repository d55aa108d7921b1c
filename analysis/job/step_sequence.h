// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/job_operation.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The steps in one rank's sequence of operations. Training repeats its operations in the same
// order, so what repeats is a step.
namespace ncclprobe::analysis::job {

// Operations first, ..., first + size - 1. Operations that do not belong to the pattern may be
// among them, and follow the last of it.
struct SequenceStep {
  std::size_t first = 0;
  std::size_t size = 0;
  std::uint32_t kind = 0;  // number of the pattern that it repeats
  std::uint32_t batch = 0; // steps that directly follow each other; ascending
};

// Fewer repeats are no steps.
inline constexpr std::size_t k_fewest_steps = 4;

// Ascending. A step begins after the longest pause (median) of its pattern. Among patterns that
// contain each other, such as layers, steps, and the steps between two evaluations, the longest one
// is a step, unless all but a little of it repeats a shorter one (step_sequence.cpp).
std::vector<SequenceStep> steps_of_sequence(std::span<const JobOperation> operations);

} // namespace ncclprobe::analysis::job
