// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "launch/cli/tune/tune_target.h"

#include <filesystem>

namespace ncclprobe::cli {

// RunOptions has the options that `run` has too. Its plan file may name cells instead of targets.
struct TuneOptions : RunOptions {
  std::vector<TuneTarget> targets; // none: all_reduce, unless a plan file names cells
  std::int64_t time_ns = 600'000'000'000;
  double min_gain = 0.02;
  std::filesystem::path folder = "tuned";
  bool with_compression = false;  // of gradients: it changes results
  bool check_environment = false; // tune nothing else
  bool dry_run = false;
};

Usage tune_usage(TuneOptions& into);

// `ncclprobe tune`: searches for settings that are faster than the defaults, confirms them in fresh
// processes, and writes them to a folder in every form in which a job takes them. "Keep the
// defaults" is an answer too. Returns an exit code (base/exit_code.h).
int tune_command(const World& world, TuneOptions options);

} // namespace ncclprobe::cli
