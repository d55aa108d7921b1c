// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// The command with the path in place of each "{}", or else as "-o PATH" at its end; in quotes for
// the shell.
std::string command_writing(const std::string& command, const std::filesystem::path& run_file);

// Which of two commands comes first in each pair, at random. As many pairs start with either, plus
// or minus one: what drifts does not favour one of them.
std::vector<bool> second_first(int pairs, std::uint64_t seed);

// Runs both commands once in each pair. `run_file` names the file that side 0 or 1 writes in a
// pair; what the command prints goes to a .txt file beside it. Errors: failed (a command did not
// end with 0 or 3, some cells failed), with the exit code and its last lines; interrupted commands
// end it too.
Result<void> run_in_turns(const std::array<std::string, 2>& commands,
                          const std::vector<bool>& second_first,
                          const std::function<std::filesystem::path(int pair, int side)>& run_file);

} // namespace ncclprobe::cli
