// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

namespace ncclprobe::cli {

// A command of the program: its options and its function. Adding one takes a line in commands.cpp,
// or in report_commands.cpp if ncclprobe-report runs it.
struct Command {
  Usage usage;
  std::function<int()> run; // uses what was parsed into the usage; returns an exit code
};

// `usage` binds options to the struct that `run` takes.
template <typename Options>
Command make_command(Usage (*usage)(Options&), std::function<int(Options)> run) {
  auto options = std::make_shared<Options>();
  Usage bound = usage(*options);
  bound.bound = options;
  return {std::move(bound), [options, run = std::move(run)] {
            base::start_log("ncclprobe", options->verbosity);
            return run(std::move(*options));
          }};
}

// Parses the words behind the command's name and runs it; prints help and mistakes. `version`
// prints the version. Returns an exit code.
int run_command_line(Command& command, const std::vector<std::string>& words,
                     const std::function<int()>& version);

} // namespace ncclprobe::cli
