// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/late_causes.h"
#include "analysis/job/made_job.h"

#include <string>
#include <vector>

// What the analysis finds in a captured job.
namespace ncclprobe::analysis::job {

struct Found {
  std::vector<std::string> texts;
  StepGraph graph;
  StepModel model;
  HeldUp held_up;
};
Found found_of(const MadeJob& job);

// How far a replay without a change is from what was seen: the largest relative error of a step.
double error_of_replay(const Found& it);

// The largest hold-up of the only kind of steps.
const HoldUp& worst(const Found& it);

} // namespace ncclprobe::analysis::job
