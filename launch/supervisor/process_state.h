// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace ncclprobe::launch {

// What the kernel tells of a process that does not go on, without asking the process itself.
struct ProcessState {
  // As in ps(1): R running, S sleeping, T stopped, D in the kernel and not to be interrupted. D if
  // any thread is, else the main thread's; empty if the process is gone.
  std::string state;
  // A line a thread, the main thread first: "ncclprobe-worker (S) in futex_wait_queue"; with the
  // kernel's frames below where they may be read (as root).
  std::string threads;
};

ProcessState look_at_process(pid_t pid);

// A thread in state D, and how often it had waited for something before: another number is another
// wait.
struct KernelWait {
  pid_t thread = 0;
  std::string waits; // as /proc tells it; empty if it does not
  bool operator==(const KernelWait&) const = default;
};
std::vector<KernelWait> kernel_waits(pid_t pid);

// A thread of it is in state D. It may hold the lock on the process's memory map, and whoever reads
// /proc/<pid>/maps then waits as long as it does.
bool is_stuck_in_kernel(pid_t pid);

} // namespace ncclprobe::launch
