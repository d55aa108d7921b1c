// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"

#include <functional>

namespace ncclprobe::cli {

// A run whose trials another command plans.
struct Job {
  RunOptions options; // complete (fill_defaults()), as far as the plan does not replace them
  std::function<Result<workload::Plan>()> plan;
  bool can_be_resumed = true;
};

// Leads the followers through the plan, or follows, stores every finished trial, folds the run file
// and prints the report. Returns an exit code (base/exit_code.h).
int run_job(const World& world, Session& session, const Job& job);

// `ncclprobe run`: measures the plan, stores every finished trial, folds the run file and prints
// the report. Returns an exit code (base/exit_code.h).
int run_command(const World& world, RunOptions options);

} // namespace ncclprobe::cli
