// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <cstddef>
#include <set>

// A part of a rank's trace. Related rows stay together: NCCL's channels and steps with their
// operation, an operation with the kernels of its launch. Calls and events stay complete, because
// they only explain delays.
namespace ncclprobe::analysis::timeline {

// Keeps rows that begin in the window, which is on the common clock. Returns the number of
// remaining kernels, copies and NCCL operations.
std::size_t keep_window(RankTrace& trace, const Clocks::OfRank& clock, Span window);

// Keeps these steps, and concurrent activity: the others are treated as outside the timed part. For
// Pass::collectives only the latter.
void keep_steps(RankTrace& trace, const Clocks::OfRank& clock, const std::set<StepKey>& wanted,
                Pass pass);

} // namespace ncclprobe::analysis::timeline
