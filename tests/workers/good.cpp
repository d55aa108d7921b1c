// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Does everything right.
#include "talk.h"

NCCLPROBE_TEST_WORKER(good) {
  return ncclprobe::test_worker::Talk().behave();
}
