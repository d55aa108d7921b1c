// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Has all results and does not end.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(slow_teardown) {
  ncclprobe::test_worker::Talk talk;
  if (!ncclprobe::test_worker::chosen())
    return talk.behave();
  talk.init();
  talk.run_cells(0, talk.cells());
  talk.done();
  while (true)
    ::pause();
}
