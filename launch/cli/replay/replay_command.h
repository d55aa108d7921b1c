// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"
#include "launch/cli/replay/captured_job.h"

namespace ncclprobe::cli {

struct World;

struct ReplayOptions : RunOptions {
  CapturedJob job;
};
Usage replay_usage(ReplayOptions& into);

// `ncclprobe replay`: measures one step of a captured job as a run does, stores it, and prints how
// well it reproduces the capture, then the run's report. Returns an exit code (base/exit_code.h).
int replay_command(const World& world, ReplayOptions options);

} // namespace ncclprobe::cli
