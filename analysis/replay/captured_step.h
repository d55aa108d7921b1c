// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"
#include "model/captured_step.h"

#include <optional>
#include <string>

// From the trace of a captured job to steps that can be replayed.
namespace ncclprobe::analysis::replay {

struct CaptureRequest {
  std::string path;        // that the source is made from
  std::optional<int> kind; // of step; nothing: the one with the most steps
  // Consecutive steps, each with its own times; 1: one step of medians. Nothing: 1 if steps are
  // alike and the host is in time, otherwise as many as the replay can hold.
  std::optional<int> steps{};
};

inline constexpr std::size_t k_fewest_captured_steps = 3;

// The operations are those of the step of median length. Times are medians over up to 128 steps in
// which every rank called the same operations, and whose predecessor was captured; or those of some
// consecutive ones of them, with the host's own time between its calls. Reads each rank once.
// Errors: those of the source; not_found without steps, or with too few that are alike; unsupported
// for operations that no schedule has.
base::Result<model::CapturedStep> captured_step(const timeline::TraceSource& source,
                                                const job::FoundSteps& found,
                                                const CaptureRequest& request);

} // namespace ncclprobe::analysis::replay
