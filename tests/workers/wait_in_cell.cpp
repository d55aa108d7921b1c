// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Stays in cell 0 until its supervisor is gone; has a child that does the same.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(wait_in_cell) {
  ncclprobe::test_worker::Talk talk;
  if (::fork() == 0)
    while (true)
      ::pause();
  talk.init();
  talk.begin_cell(0);
  while (true)
    ::pause();
}
