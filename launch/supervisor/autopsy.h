// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/trial_report.h"

#include <string>
#include <vector>

// What can be said of a trial that missed a deadline. Pure: works on what the supervisors reported.
namespace ncclprobe::launch {

// Where each group of ranks was, the stuck ranks' innermost frames and last NCCL line, and a
// probable cause; on one line, for the outcome's reason. `stuck` are the ranks that did not get
// there.
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
