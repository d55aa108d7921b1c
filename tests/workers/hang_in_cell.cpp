// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Never ends cell 1, ignores SIGTERM and the end of its channel.
#include "talk.h"

#include <csignal>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(hang_in_cell) {
  using namespace ncclprobe::test_worker;
  Talk talk(chosen() ? Guard::no : Guard::yes);
  if (!chosen())
    return talk.behave();
  std::signal(SIGTERM, SIG_IGN);
  talk.init();
  talk.run_cells(0, 1);
  talk.begin_cell(1);
  while (true)
    ::pause();
}
