// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_model.h"

#include <cstdint>
#include <vector>

// The steps once more, from how long everything took and what it waited for. Without a change this
// gives the times that were seen.
namespace ncclprobe::analysis::job {

struct ReplayedTimes {
  std::int64_t ready_ns = 0, begin_ns = 0, end_ns = 0;
};
using ReplayedRun = std::vector<std::vector<ReplayedTimes>>; // by rank

// Of `run`, only the order of operations and who meets is used. Operations that can never begin,
// because a part of the capture is missing, keep the times of `run`.
ReplayedRun replay(const StepGraph& graph, const StepRun& run, const MeasuredRun& measured,
                   const std::vector<WaitedFor>& waited);

// From the begin of each step to that of the next: means over ranks of their first operation.
// One less than the steps of the run.
std::vector<double> step_lengths_ns(const StepRun& run, const ReplayedRun& replayed);
std::vector<double> step_lengths_ns(const StepRun& run); // as seen

} // namespace ncclprobe::analysis::job
