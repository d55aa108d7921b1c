// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace ncclprobe::launch {

// What the kernel reports about a process that makes no progress, without asking the process
// itself.
struct ProcessState {
  // As in ps(1): R running, S sleeping, T stopped, D uninterruptible in the kernel. D if any thread
  // is in it, otherwise the main thread's; empty if the process is gone.
  std::string state;
  // One line per thread, the main thread first: "ncclprobe-worker (S) in futex_wait_queue". The
  // kernel's frames follow if they may be read (as root).
  std::string threads;
};

ProcessState look_at_process(pid_t pid);

// A thread in state D, and how often it had waited before. A changed number means another wait.
struct KernelWait {
  pid_t thread = 0;
  std::string waits; // as /proc reports it; empty if it does not
  bool operator==(const KernelWait&) const = default;
};
std::vector<KernelWait> kernel_waits(pid_t pid);

// True if a thread is in state D. That thread may hold the lock on the process's memory map. A
// reader of /proc/<pid>/maps then waits as long as the thread does.
bool is_stuck_in_kernel(pid_t pid);

} // namespace ncclprobe::launch
