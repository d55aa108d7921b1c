// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_options.h"

namespace ncclprobe::cli {

struct World;

struct PlanOptions : RunOptions {
  bool dry_run = false;
  std::optional<int> gpus; // of one imagined host, in place of this machine's
  std::string format = "toml";
  base::Destination destination; // without a file: standard output
};
Usage plan_usage(PlanOptions& into);

// `ncclprobe plan`: prints the plan file that means these options, or as a dry run the trials and
// the time they are expected to take. Returns an exit code.
int plan_command(const World& world, PlanOptions options);

} // namespace ncclprobe::cli
