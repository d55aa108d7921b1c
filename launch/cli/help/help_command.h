// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

namespace ncclprobe::cli {

struct HelpOptions : ResultOptions {
  std::string command; // empty: the program
};
Usage help_usage(HelpOptions& into);

// Prints help, manual pages, the reference of all commands or a script for a shell. Returns an exit
// code.
int help_command(const std::vector<Usage>& usages, const HelpOptions& options);

} // namespace ncclprobe::cli
