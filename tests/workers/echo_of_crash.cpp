// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The chosen rank dies in cell 0; the other ranks notice and report it first.
#include "talk.h"

#include <csignal>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(echo_of_crash) {
  using namespace ncclprobe;
  test_worker::Talk talk;
  talk.init();
  talk.begin_cell(0);
  if (test_worker::chosen()) {
    talk.exchange("the others have complained", "");
    ::kill(::getpid(), SIGKILL);
  }
  talk.send(
      wire::Failure{{model::OutcomeKind::failed, "connection closed by peer", {talk.rank()}}, 0});
  talk.exchange("the others have complained", "");
  while (true)
    ::pause();
}
