// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"
#include "support/catch.h"

namespace ncclprobe::cli_test {

// What a command's line means.
template <typename Options>
Options parsed(cli::Usage (*usage)(Options&), const std::vector<std::string>& words) {
  Options options;
  cli::Usage of_command = usage(options);
  const auto leave = cli::parse(of_command, words);
  INFO((leave ? leave->text : ""));
  REQUIRE_FALSE(leave.has_value());
  return options;
}

// Why a command's line is refused; empty: it is not.
template <typename Options>
std::string refusal(cli::Usage (*usage)(Options&), const std::vector<std::string>& words) {
  Options options;
  cli::Usage of_command = usage(options);
  const auto leave = cli::parse(of_command, words);
  return leave && leave->why == cli::Leave::Why::mistake ? leave->text : "";
}

} // namespace ncclprobe::cli_test
