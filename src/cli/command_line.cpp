// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/command_line.h"

#include "base/exit_code.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <ostream>

namespace ncclprobe::cli {
namespace {

void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (std::ranges::find(option->results(), std::string()) != option->results().end())
      throw CLI::ValidationError(option->get_name(), "its value is empty");
  for (const CLI::App* command : app.get_subcommands()) // those that were named
    refuse_empty_values(*command);
}

} // namespace

std::optional<int> parse_arguments(CLI::App& app, const std::vector<std::string>& arguments,
                                   std::ostream& out, std::ostream& err,
                                   const std::function<void()>& check) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); // last one first
    refuse_empty_values(app);
    if (check)
      check();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (app.exit(error, out, err) != 0)
      return base::k_exit_usage;
    return out.flush() ? base::k_exit_ok : base::k_exit_output;
  }
}

} // namespace ncclprobe::cli
