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

// What HDF5 may not survive is done in a forked child: reading a file that may be damaged, which
// can crash or hang the library, and writing one to a disk that may be full, after which the
// library is of no more use to its process.
namespace ncclprobe::store {

struct ChildLimits {
  // Processor time of one job: in all, and between two calls of its `progress`. 0: no limit, in
  // `wall` either.
  std::chrono::milliseconds cpu{0};
  std::chrono::milliseconds stall{0};
  std::chrono::milliseconds wall{0};
  std::uint64_t memory_bytes = 0; // the child's growth; 0: no limit
};

// The job calls it whenever it has got further.
using Progress = std::function<void()>;

struct ChildJob {
  std::filesystem::path path; // for messages
  const char* verb = "read";  // what it does to the file, likewise
  ChildLimits limits;
  // Its result comes back as bytes.
  std::function<base::Result<std::string>(const Progress& progress)> run;
  std::function<void()> meanwhile; // called here, about once a second, until then
};

// Runs the jobs one after the other in one child, or in several if one dies. The child ignores what
// interrupts or terminates a process: that is for the caller to act on, and the child dies with it.
// One result for each job. Errors: the job's own; of a child that read, protocol if it crashed and
// timed_out if it went beyond its limits (the file is damaged), of another one failed; unavailable
// if there was no child, or somebody else killed it. Only the calling thread may be inside HDF5, or
// the child would wait for a lock that nobody holds and run into its limit.
std::vector<base::Result<std::string>> run_in_child(const std::vector<ChildJob>& jobs);

} // namespace ncclprobe::store
