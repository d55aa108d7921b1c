// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <chrono>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// Runs a program of the system, found on the PATH of `environment`, and returns what it wrote on
// standard output. Errors: not_found, failed (with the last lines it wrote), timed_out; a tool that
// cannot even be killed is left behind.
base::Result<std::string> output_of_tool(const std::vector<std::string>& words,
                                         const std::vector<std::string>& environment,
                                         std::chrono::milliseconds patience);

} // namespace ncclprobe::launch
