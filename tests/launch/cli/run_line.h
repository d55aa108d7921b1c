// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"
#include "launch/cli/parsed.h"

namespace ncclprobe::cli_test {

// Command lines of `ncclprobe run`.
inline cli::RunOptions run_options(const std::vector<std::string>& words) {
  return parsed(cli::run_usage, words);
}

inline bool refused(const std::vector<std::string>& words) {
  return !refusal(cli::run_usage, words).empty();
}

} // namespace ncclprobe::cli_test
