// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <chrono>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// Runs a system program, found on the PATH of `environment`, and returns its standard output.
// Errors: not_found, failed (with its last lines), timed_out. A tool that survives SIGKILL is left
// behind.
Result<std::string> output_of_tool(const std::vector<std::string>& words,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds patience);

} // namespace ncclprobe::launch
