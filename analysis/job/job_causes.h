// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/late_causes.h"
#include "analysis/job/what_if.h"

#include <string>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::job {

// Everything about who holds a captured job up, without its operations.
struct JobCauses {
  std::vector<GraphCommunicator> communicators;
  std::vector<OperationClass> classes;
  bool has_all_steps = true; // otherwise evenly chosen ones
  HeldUp held_up;
  std::vector<ModelCheck> checks; // by kind of steps
  // As asked.
  std::vector<std::pair<WhatIf, std::vector<Predicted>>> what_ifs;
};

// `error_ns`: as for find_held_up(). `texts`: TraceSource::texts. Errors: those of predict().
base::Result<JobCauses> job_causes(const StepGraph& graph, double error_ns,
                                   const std::vector<WhatIf>& what_ifs,
                                   const std::vector<std::string>& texts);

} // namespace ncclprobe::analysis::job
