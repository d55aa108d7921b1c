// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Does everything right, and leaves a child behind.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(leave_grandchild) {
  if (::fork() == 0)
    while (true)
      ::pause();
  return ncclprobe::test_worker::Talk().behave();
}
