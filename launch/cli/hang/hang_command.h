// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct HangOptions : ResultOptions {
  std::filesystem::path job;      // folder of spools; may be empty
  std::vector<std::string> dumps; // of PyTorch's flight recorder: files, folders, patterns
  std::string ras;                // HOST:PORT; empty: where NCCL listens, if the job lives
  std::int64_t least_ns = 5'000'000'000;
};
Usage hang_usage(HangOptions& into);

// `ncclprobe hang`: in what a job hangs, and which ranks hold it up. Returns the exit code.
int hang_command(const HangOptions& options);

} // namespace ncclprobe::cli
