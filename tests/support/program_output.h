// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>

namespace ncclprobe::support {

struct ProgramOutput {
  int exit_code = -1; // -1: a signal ended it
  std::string text;   // stdout and stderr
};

// For a shell command line.
inline ProgramOutput output_of(const std::string& command) {
  ProgramOutput output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr)
    std::abort();
  std::array<char, 4'096> block;
  while (std::size_t count = std::fread(block.data(), 1, block.size(), pipe))
    output.text.append(block.data(), count);
  const int status = ::pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

} // namespace ncclprobe::support
