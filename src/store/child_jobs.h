// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// Runs dangerous HDF5 work in a forked child: reading a file that may be damaged, which can crash
// or hang the library, and writing to a disk that may be full, after which the library is unusable
// in that process.
namespace ncclprobe::store {

struct ChildLimits {
  // Processor time of one job: in total, and between two calls of its `progress`. If `cpu` is 0,
  // none of the three holds.
  std::chrono::milliseconds cpu{0};
  std::chrono::milliseconds stall{0};
  std::chrono::milliseconds wall{0};
  std::uint64_t memory_bytes = 0; // the child's growth; 0: no limit
};

// The job calls it whenever it has made progress.
using Progress = std::function<void()>;

struct ChildJob {
  std::filesystem::path path; // for messages
  const char* verb = "read";  // what it does to the file, for messages
  ChildLimits limits;
  // Its result comes back as bytes.
  std::function<Result<std::string>(const Progress& progress)> run;
  std::function<void()> meanwhile; // called in this process about once a second while the jobs run
};

// Runs the jobs one after the other in one child, or in several if one dies. The child ignores
// signals that interrupt or terminate: the caller handles them, and the child dies with the caller.
// One result for each job. Errors: the job's own; protocol if a child crashed while reading,
// timed_out if it exceeded its limits (the file is damaged); failed if it was not reading;
// unavailable if no child could be started, or somebody else killed it. Only the calling thread may
// be inside HDF5. Otherwise the child would wait for a lock that nobody holds, until its limit.
std::vector<Result<std::string>> run_in_child(const std::vector<ChildJob>& jobs);

} // namespace ncclprobe::store
