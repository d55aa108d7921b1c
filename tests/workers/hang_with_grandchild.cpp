// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Like hang_in_cell, with a child process that ignores SIGTERM too.
#include "talk.h"

#include <csignal>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(hang_with_grandchild) {
  using namespace ncclprobe::test_worker;
  Talk talk(chosen() ? Guard::no : Guard::yes);
  if (!chosen())
    return talk.behave();
  std::signal(SIGTERM, SIG_IGN);
  ::fork();
  if (getpid() == getpgrp()) {
    talk.init();
    talk.run_cells(0, 1);
    talk.begin_cell(1);
  }
  while (true)
    ::pause();
}
