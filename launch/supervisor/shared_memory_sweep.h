// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <sys/types.h>

namespace ncclprobe::launch {

// Removes what killed NCCL workers leave in /dev/shm: files nccl-*, which NCCL unlinks by itself
// only once all ranks have attached. Careful, because the same user may run other jobs there: a
// file goes only if it is ours, and no process that we can see has it open or mapped. What a worker
// was seen to use before it was killed is known to be its. Of other files (a worker that crashed
// was not looked at) only those since its spawn, and only if a second look finds them still unused:
// a job in another container, whose processes we do not see, keeps its files for a moment only.
// While a process of ours is stuck in the kernel nothing goes: it may not be asked what it uses.
class SharedMemorySweep {
public:
  explicit SharedMemorySweep(std::filesystem::path folder = "/dev/shm")
      : folder_(std::move(folder)) {}

  // This worker of ours is about to be killed.
  void note(pid_t worker);
  // Workers spawned since then were killed or died.
  void look(std::int64_t since_s);
  // The run is over.
  void last_look();

private:
  void remove_unused();

  std::filesystem::path folder_;
  std::set<std::string> known_;   // by path
  std::set<std::string> suspect_; // seen unused once
};

} // namespace ncclprobe::launch
