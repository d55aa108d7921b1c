// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/process_start.h"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

void (*on_file_limit_before)(int) = SIG_DFL;

void open_if_closed(int fd, int flags) {
  if (::fcntl(fd, F_GETFD) < 0)
    (void)::open("/dev/null", flags); // the lowest free number, so `fd` itself
}

} // namespace

void prepare_process() {
  open_if_closed(STDIN_FILENO, O_RDONLY);
  open_if_closed(STDOUT_FILENO, O_RDONLY);
  open_if_closed(STDERR_FILENO, O_WRONLY);
  on_file_limit_before = ::signal(SIGXFSZ, SIG_IGN);
}

void restore_signals() {
  ::signal(SIGXFSZ, on_file_limit_before);
}

} // namespace ncclprobe::base
