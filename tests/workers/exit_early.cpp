// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Ends before it says hello.
#include "talk.h"

#include <cstdio>

NCCLPROBE_TEST_WORKER(exit_early) {
  if (!ncclprobe::test_worker::chosen())
    return ncclprobe::test_worker::Talk().behave();
  std::fputs("cannot open libmissing.so\n", stderr);
  return 3;
}
