// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Writes bytes on the channel that are not a frame, as a library might that uses the same
// descriptor.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(garbage) {
  if (!ncclprobe::test_worker::chosen())
    return ncclprobe::test_worker::Talk().behave();
  const char text[] = "NCCL version 2.28.3+cuda13.0\n";
  if (::write(ncclprobe::wire::k_channel_fd, text, sizeof text) < 0)
    return 1;
  while (true)
    ::pause();
}
