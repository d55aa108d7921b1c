// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"

#include <cstddef>
#include <cstdint>
#include <vector>

// Which steps of a capture are compared, and which of them are replayed.
namespace ncclprobe::analysis::replay {

inline constexpr std::size_t k_most_compared_steps = 128;
inline constexpr std::size_t k_most_replayed_steps = 16;

// Numbers of steps of this kind whose predecessor is of it, too. If they are many: runs of
// consecutive ones from all over the job.
std::vector<std::uint32_t> steps_to_compare(const job::FoundSteps& found, std::uint32_t kind);

// One step: means over ranks.
struct StepLength {
  std::uint32_t number = 0;
  double length_ns = 0, exposed_ns = 0;
};

// The `most` consecutive steps that together are the most usual, by length and exposed
// communication; fewer if no run of steps is that long. By number; `steps` ascend.
std::vector<std::uint32_t> usual_consecutive_steps(const std::vector<StepLength>& steps,
                                                   std::size_t most);

// Whether half of all steps differ in length by more than chance.
bool lengths_differ(const std::vector<StepLength>& steps);

} // namespace ncclprobe::analysis::replay
