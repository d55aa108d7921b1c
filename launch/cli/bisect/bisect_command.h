// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::cli {

struct BisectOptions : ResultOptions {
  std::string versions; // "nccl=/opt/nccl-*/libnccl.so.2"
  std::string cell;     // "all_reduce:64M"
  double least = 0.02;  // smallest slowdown, as a share
  std::string launcher; // "mpirun -np 8"; empty: none
  std::optional<std::string> backend;
  std::optional<int> ranks;
  std::optional<std::int64_t> cell_deadline_ns;
};
Usage bisect_usage(BisectOptions& into);

// `ncclprobe bisect`: which of many files of a library is the first that is slower, or fails.
// Returns the exit code.
int bisect_command(const BisectOptions& options);

} // namespace ncclprobe::cli
