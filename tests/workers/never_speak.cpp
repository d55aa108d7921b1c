// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Hangs before its first message, as a program does that waits for a file system.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(never_speak) {
  if (!ncclprobe::test_worker::chosen())
    return ncclprobe::test_worker::Talk().behave();
  while (true)
    ::pause();
}
