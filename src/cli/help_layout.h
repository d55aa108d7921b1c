// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ncclprobe::cli {

// The text with lines that are wider than 100 columns going on below, under the last of their own
// columns.
std::string within_width(const std::string& text);

// Help texts of the app, and of the subcommands that it gets afterwards, in lines of at most 100
// columns: CLI11 wraps nothing.
void use_help_layout(CLI::App& app);

} // namespace ncclprobe::cli
