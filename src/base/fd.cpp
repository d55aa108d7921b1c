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

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    bytes.remove_prefix(written);
  }
  return 0;
}

} // namespace ncclprobe::base
