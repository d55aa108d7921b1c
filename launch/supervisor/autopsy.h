// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/trial_report.h"

#include <string>
#include <vector>

// Explains a trial that missed a deadline. Pure: works on the reports of the supervisors.
namespace ncclprobe::launch {

// One line for the outcome's reason: where each group of ranks was, the innermost frames and last
// NCCL line of the stuck ranks, and a probable cause. `stuck` are the ranks that did not get there.
std::string autopsy(const Trouble& cause, const std::vector<int>& stuck,
                    const model::TrialSpec& spec, const std::vector<TrialReport>& reports);

// The rule that fits best, or "unknown: see the stacks of the workers".
std::string probable_cause(const Trouble& cause, const std::vector<int>& stuck,
                           const model::TrialSpec& spec, const std::vector<TrialReport>& reports);

// "spawned", "device ready", "launch 3 of 20 of all_reduce 1M f32", ...
std::string phase_in_words(const RankReport& rank, const model::WorkerRecord& worker,
                           const model::TrialSpec& spec);

// The last line of NCCL's log in captured output; empty if there is none.
std::string last_nccl_line(std::string_view output);

} // namespace ncclprobe::launch
