// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe-report: the commands that only read files. `ncclprobe report` and similar commands
// execute this program. Without a command it prints a report.
#include "base/console.h"
#include "base/exit_code.h"
#include "base/process_start.h"
#include "base/resource_limits.h"
#include "base/version.h"
#include "launch/cli/report_program/report_commands.h"
#include "store/run_form.h"

#include <algorithm>
#include <ostream>

namespace {

using namespace ncclprobe;

int show_version() {
  const std::string text =
      fmt::format("ncclprobe-report {} (reads run files of schema {}.{})\n", base::version(),
                  store::k_schema_major, store::k_schema_minor);
  return base::print(base::StandardStream::out, text) ? base::k_exit_ok : base::k_exit_output;
}

int run_program(std::vector<std::string> words) {
  std::vector<cli::Command> all = cli::report_commands();
  auto command = words.empty() ? all.end()
                               : std::ranges::find(all, words.front(), [](const cli::Command& one) {
                                   return one.usage.name;
                                 });
  if (command == all.end())
    command = all.begin();
  else
    words.erase(words.begin());
  return cli::run_command_line(*command, words, show_version);
}

// Output is only complete once it is flushed.
int flushed(int exit_code) {
  if (base::console(base::StandardStream::out).flush() || exit_code == base::k_exit_output)
    return exit_code;
  base::print(base::StandardStream::err, "ncclprobe: cannot write to standard output\n");
  return base::k_exit_output;
}

int lacking(const base::Error& error) {
  base::print(base::StandardStream::err, fmt::format("ncclprobe report: {}\n", error.text()));
  return base::k_exit_environment;
}

} // namespace

int main(int argc, char** argv) {
  base::prepare_process();
  if (auto enough = base::check_memory_limit(); !enough)
    return lacking(enough.error());
  try {
    return flushed(run_program({argv + std::min(argc, 1), argv + argc}));
  } catch (const std::exception& error) {
    if (auto shortage = base::shortage_behind(error))
      return lacking(*shortage);
    base::print(base::StandardStream::err,
                fmt::format("ncclprobe report: internal error: {}\n", error.what()));
    return base::k_exit_internal;
  }
}
