// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"

#include <vector>

namespace ncclprobe::analysis::job {

// training: the only kind of several operations that reduces gradients. evaluation: what comes
// again and again after steps of training, without gradients.
enum class StepUse : std::uint8_t { unknown, training, evaluation };

// Of each kind.
std::vector<StepUse> step_uses(const FoundSteps& found);

} // namespace ncclprobe::analysis::job
