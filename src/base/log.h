// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/spdlog.h>

#include <string>

// Diagnostics go to stderr through spdlog's default logger, which writes through console.h. Results
// go to stdout, never through here.
namespace ncclprobe::base {

enum class Verbosity { quiet, normal, verbose };

// Call it once, at the start of main. `who` precedes every line ("ncclprobe[3]").
void start_log(const std::string& who, Verbosity verbosity);

} // namespace ncclprobe::base
