// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <pthread.h>
#include <string>

namespace ncclprobe::worker {

// Shows where the thread that made it is, whatever that thread is stuck in: a system call, or a
// loop in a library. A signal makes it write down its own return addresses; names are looked up by
// who asks. At most one object in a process, since a signal handler finds nothing but globals.
class StackProbe {
public:
  StackProbe();

  // From another thread. Innermost first, a frame a line; empty if the thread did not answer in
  // time, as in a system call that no signal ends.
  std::string take(std::chrono::milliseconds patience) const;

private:
  pthread_t thread_;
};

} // namespace ncclprobe::worker
