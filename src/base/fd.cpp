// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/fd.h"

#include <cerrno>
#include <unistd.h>

namespace ncclprobe::base {

int Fd::close() {
  if (fd_ < 0)
    return 0;
  int status = ::close(std::exchange(fd_, -1));
  return status == 0 ? 0 : errno;
}

} // namespace ncclprobe::base
