// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Stays in communicator_init and contributes nothing.
#include "talk.h"

#include <unistd.h>

NCCLPROBE_TEST_WORKER(never_exchange) {
  ncclprobe::test_worker::Talk talk;
  if (!ncclprobe::test_worker::chosen())
    return talk.behave();
  talk.enter(ncclprobe::wire::WorkerPhase::communicator_init);
  while (true)
    ::pause();
}
