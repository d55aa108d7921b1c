// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/output_file.h"
#include "cli/usage.h"

namespace ncclprobe::cli {

struct HelpOptions {
  std::string command; // empty: the program
  std::string format = "text";
  base::Destination output; // without a file: standard output
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage help_usage(HelpOptions& into);

// Prints help, manual pages, the reference of all commands or a script for a shell. Returns an exit
// code.
int help_command(const std::vector<Usage>& usages, const HelpOptions& options);

} // namespace ncclprobe::cli
