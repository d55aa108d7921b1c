// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

namespace ncclprobe::support {

// From here on this process writes no file beyond `bytes`: write(2) fails in the middle, as on a
// full disk, where a tmpfs would need root.
inline void limit_files_to(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
    ::_exit(4);
}

} // namespace ncclprobe::support
