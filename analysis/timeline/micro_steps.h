// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Micro-steps of gradient accumulation: passes of which only the last one sends gradients (no_sync
// of PyTorch). Collectives do not show them, the program's NVTX ranges do.
namespace ncclprobe::analysis::timeline {

// Whether a range of this name is one forward pass or one micro-step: "forward", "fwd_step",
// "micro-batch 3". Not "Linear.forward" or "forward_backward".
bool names_micro_step(std::string_view name);

// How many steps have so many micro-steps on this rank. Steps whose ranges disagree are left out,
// for example with 4 "micro-batch" and 24 "forward".
using MicroStepCounts = std::map<std::uint32_t, std::uint64_t>;
ByCell<MicroStepCounts> micro_steps_of(const RankTrace& trace, const OperationIndex& operations,
                                       const std::vector<std::string>& texts);

} // namespace ncclprobe::analysis::timeline
