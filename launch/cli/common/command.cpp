// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/command.h"

#include "base/console.h"
#include "base/exit_code.h"

namespace ncclprobe::cli {

int run_command_line(Command& command, const std::vector<std::string>& words,
                     const std::function<int()>& version) {
  const std::optional<Leave> leave = parse(command.usage, words);
  if (!leave)
    return command.run();
  switch (leave->why) {
  case Leave::Why::version:
    return version();
  case Leave::Why::help:
    return base::print(base::StandardStream::out, leave->text) ? base::k_exit_ok
                                                               : base::k_exit_output;
  case Leave::Why::mistake:
    break;
  }
  base::print(base::StandardStream::err, leave->text);
  return base::k_exit_usage;
}

} // namespace ncclprobe::cli
