// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Dies of SIGSEGV in the middle of cell 1.
#include "talk.h"

#include <csignal>
#include <cstdio>

NCCLPROBE_TEST_WORKER(crash_in_cell) {
  ncclprobe::test_worker::Talk talk;
  if (!ncclprobe::test_worker::chosen())
    return talk.behave();
  talk.init();
  talk.run_cells(0, 1);
  talk.begin_cell(1);
  std::puts("about to touch what is not ours");
  std::fflush(stdout);
  std::signal(SIGSEGV, SIG_DFL); // a sanitizer would make an exit of it
  return std::raise(SIGSEGV);
}
