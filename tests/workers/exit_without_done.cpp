// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Leaves with code 0 after its first cell.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(exit_without_done) {
  ncclprobe::test_worker::Talk talk;
  if (!ncclprobe::test_worker::chosen())
    return talk.behave();
  talk.init();
  talk.run_cells(0, 1);
  ::_exit(0);
}
