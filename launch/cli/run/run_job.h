// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "base/output_file.h"
#include "launch/cli/job/session.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

// A run whose trials a command plans.
struct Job {
  RunOptions options; // complete (fill_defaults()), as far as the plan does not replace them
  std::function<Result<workload::Plan>()> plan;
  bool can_be_resumed = true;
  // Trials that a finished one calls for. They run after those that are left. None: the plan is
  // the whole run.
  std::function<std::vector<model::TrialSpec>(const model::TrialRecord&)> more;
  // A further run by the same supervisors, into a file of its own, when this one is whole.
  std::function<std::optional<Job>()> next;
  // Shows what the folded file holds and returns an exit code; without it, the run's report is
  // printed. `exit_code`: what the trials' outcomes call for.
  std::function<int(const analysis::RunSummary& run, const std::filesystem::path& run_file,
                    int exit_code)>
      conclude;
};

// Leads the followers through the plan, or follows, stores every finished trial, folds the run file
// and prints the report. Returns an exit code (base/exit_code.h).
int run_job(const World& world, Session& session, const Job& job);

// The file that --output names, if it is the report's and not the run file; otherwise empty.
base::Destination report_file(const RunOptions& options);

} // namespace ncclprobe::cli
