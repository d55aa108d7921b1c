// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// What HDF5 may not survive is done in a forked child: reading a file that may be damaged, which
// can crash or hang the library, and writing one to a disk that may be full, after which the
// library is of no more use to its process.
namespace ncclprobe::store {

struct ChildLimits {
  std::int64_t cpu_s = 0;         // processor time for one job; 0: no limit in time
  std::int64_t wall_factor = 3;   // waiting for the disk is allowed for, within reason
  std::uint64_t memory_bytes = 0; // the child's growth; 0: no limit
};

struct ChildJob {
  std::filesystem::path path; // for messages
  const char* verb = "read";  // what it does to the file, likewise
  ChildLimits limits;
  std::function<base::Result<std::string>()> run; // its result comes back as bytes
  std::function<void()> meanwhile;                // called here, about once a second, until then
};

// Runs the jobs one after the other in one child, or in several if one dies. One result for each
// job; errors: the job's own; if the child died or took too long protocol where it was reading,
// failed otherwise. Only the calling
// thread may be inside HDF5, or the child would wait for a lock nobody holds and run into its
// limit.
std::vector<base::Result<std::string>> run_in_child(const std::vector<ChildJob>& jobs);

} // namespace ncclprobe::store
