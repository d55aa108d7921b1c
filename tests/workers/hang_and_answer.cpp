// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Never ends cell 1, but says where it is when it is asked.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(hang_and_answer) {
  using namespace ncclprobe;
  test_worker::Talk talk;
  if (!test_worker::chosen())
    return talk.behave();
  talk.init();
  talk.run_cells(0, 1);
  talk.begin_cell(1);
  while (!talk.is_asked_where())
    ;
  talk.send(wire::Position{"launch 7 of 20 of batch 2", "ncclProxy\nmain"});
  while (true)
    ::pause();
}
