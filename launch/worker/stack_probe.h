// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <pthread.h>
#include <string>

namespace ncclprobe::worker {

// Shows where the thread that created it is, even if that thread is stuck in a system call or in a
// loop of a library. A signal makes the thread store its own return addresses; the asking thread
// looks up the names. At most one object per process, because a signal handler only finds globals.
class StackProbe {
public:
  StackProbe();

  // From another thread. Innermost first, one frame per line; empty if the thread did not answer in
  // time, for example in a system call that no signal interrupts.
  std::string take(std::chrono::milliseconds patience) const;

private:
  pthread_t thread_;
};

} // namespace ncclprobe::worker
