// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <sys/types.h>

namespace ncclprobe::launch {

// Removes files nccl-* that killed NCCL workers leave in /dev/shm. NCCL unlinks them itself only
// once all ranks have attached. The same user may run other jobs there, so a file is removed only
// if it is ours, and if no process that we can see has it open or mapped. A file that a worker was
// seen to use before it was killed is known to be the worker's. Other files (of a worker that
// crashed before we could look) are removed only if they are newer than its spawn and a second look
// finds them still unused, because a job in another container, whose processes we cannot see, keeps
// its files only briefly. While a process of ours is stuck in the kernel, nothing is removed: we
// cannot ask what it uses.
class SharedMemorySweep {
public:
  explicit SharedMemorySweep(std::filesystem::path folder = "/dev/shm")
      : folder_(std::move(folder)) {}

  // Call it before killing one of our workers.
  void note(pid_t worker);
  // Call it after workers spawned since then were killed or died.
  void look(std::int64_t since_s);
  // Call it at the end of the run.
  void last_look();

private:
  void remove_unused();

  std::filesystem::path folder_;
  std::set<std::string> known_;   // by path
  std::set<std::string> suspect_; // seen unused once
};

} // namespace ncclprobe::launch
