// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

#include <string_view>

// Help and documents, made from the usages of commands. Lists of usages hold every command of the
// program.
namespace ncclprobe::cli {

// Wraps lines that are wider than the terminal, or a report. They continue under the last of their
// own columns.
std::string within_width(const std::string& text);

std::string help_text(const Usage& usage);
std::string help_text(const std::vector<Usage>& usages); // of the whole program
std::string man_page(const Usage& usage);
std::string man_page(const std::vector<Usage>& usages);
std::string options_json(const std::vector<Usage>& usages);
std::string options_markdown(const std::vector<Usage>& usages); // docs/options.md

// Parts of these documents.
std::string synopsis(const Usage& usage);   // "ncclprobe report [OPTION]... RUN.h5"
std::string names_of(const Option& option); // "-s, --sizes SIZES"
// The option's help, default, needs and conflicts.
std::string explained(const Usage& usage, const Option& option);
std::vector<ExitMeaning> exit_codes(const Usage&); // of all commands, and its own; ascending
// By title, in the order of the first option of each.
std::vector<std::pair<std::string, std::vector<const Option*>>> groups_of(const Usage& usage);

// A script that completes commands, options and values. `shell`: bash or zsh.
std::string completion_script(const std::vector<Usage>& usages, std::string_view shell);

} // namespace ncclprobe::cli
