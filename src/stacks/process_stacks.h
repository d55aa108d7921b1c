// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace ncclprobe::stacks {

struct ThreadStack {
  pid_t thread = 0;
  std::string name;
  // Innermost first, "clock_nanosleep (libc.so.6)"; empty if the thread cannot be stopped, because
  // it is within the kernel.
  std::vector<std::string> frames;
};

// Where the threads of another process are, its main thread first. Each thread stops for some
// milliseconds and then goes on. Errors: not_found, unavailable (the kernel does not allow it).
base::Result<std::vector<ThreadStack>> stacks_of(pid_t process);

} // namespace ncclprobe::stacks
