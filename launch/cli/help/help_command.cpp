// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/help/help_command.h"

#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/common/help.h"

namespace ncclprobe::cli {

Usage help_usage(HelpOptions& into) {
  return {
      .name = "help",
      .summary = "Explain a command, or list all commands",
      .examples = {{"ncclprobe help run"},
                   {"ncclprobe help run --format man | man -l -", "read it as a manual page"},
                   {"ncclprobe help --format markdown", "docs/options.md"},
                   {"source <(ncclprobe help --format bash)", "enable completion, in ~/.bashrc"},
                   {"source <(ncclprobe help --format zsh)", "in ~/.zshrc, after compinit"}},
      .options = joined({{option("command", "COMMAND", into.command, text_words("run"),
                                 "Command to explain; without it, all commands are listed",
                                 {.positional = true})},
                         result_options(into, {"text", "json", "man", "markdown", "bash", "zsh"},
                                        "{}; bash and zsh print a completion script; json, man and "
                                        "markdown print all options")})};
}

int help_command(const std::vector<Usage>& usages, const HelpOptions& options) {
  std::vector<Usage> chosen;
  for (const Usage& usage : usages)
    if (options.command.empty() || usage.name == options.command)
      chosen.push_back(usage);
  if (chosen.empty())
    return give_up({base::Errc::invalid_argument,
                    fmt::format("'{}' is not a command", options.command),
                    "`ncclprobe help` lists them"});
  if (auto possible = check_destination(options.output); !possible)
    return give_up(possible.error());
  const bool all = options.command.empty();
  const std::string text =
      options.format.ends_with("sh") ? completion_script(usages, options.format)
      : options.format == "json"     ? options_json(chosen)
      : options.format == "markdown" ? options_markdown(chosen)
      : options.format == "man"      ? (all ? man_page(chosen) : man_page(chosen.front()))
                                     : (all ? help_text(chosen) : help_text(chosen.front()));
  return deliver(text, options.output, base::k_exit_ok);
}

} // namespace ncclprobe::cli
