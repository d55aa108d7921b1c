// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct TunerOptions : ResultOptions {
  std::string action;              // "check" or "convert"
  std::filesystem::path input;     // a tuner table, or what `convert` reads
  std::filesystem::path converted; // what `convert` writes; empty with `check`
  std::filesystem::path run_file;  // --against; may be empty
  std::vector<std::filesystem::path> hits;
  int ranks = 0; // of the job; 0: not said
  int nodes = 1;
};
Usage tuner_usage(TunerOptions& into);

// `ncclprobe tuner check`: what becomes of each row of a tuner table. `ncclprobe tuner convert`:
// from and to the configuration of NVIDIA's example tuner. Returns the exit code.
int tuner_command(const TunerOptions& options);

} // namespace ncclprobe::cli
