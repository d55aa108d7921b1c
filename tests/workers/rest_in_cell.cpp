// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Spends three seconds in cell 0 without using the processor.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(rest_in_cell) {
  ncclprobe::test_worker::Talk talk;
  talk.init();
  talk.begin_cell(0);
  ::sleep(3);
  talk.end_cell(0);
  talk.done();
  ::_exit(0);
}
