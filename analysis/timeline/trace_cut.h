// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <cstddef>
#include <set>

// A part of a rank's trace. What belongs together stays together: NCCL's channels and steps with
// their operation, an operation with the kernels of its launch. Calls and events stay whole, as
// they only say why something came late.
namespace ncclprobe::analysis::timeline {

// Leaves what begins in the window, which is on the common clock. Returns how many kernels, copies
// and NCCL operations are left.
std::size_t keep_window(RankTrace& trace, const Clocks::OfRank& clock, Span window);

// Leaves these steps, and what ran beside them: the others are as if they stood outside of the
// timed part. For Pass::collectives only the latter.
void keep_steps(RankTrace& trace, const Clocks::OfRank& clock, const std::set<StepKey>& wanted,
                Pass pass);

} // namespace ncclprobe::analysis::timeline
