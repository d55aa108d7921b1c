// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Says that it cannot go on, in cell 1 (MISBEHAVE=in_cell) or in start-up, and why; and exits.
#include "talk.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(fail) {
  using namespace ncclprobe;
  test_worker::Talk talk;
  if (!test_worker::chosen())
    return talk.behave();
  std::string_view how = std::getenv("MISBEHAVE");
  auto kind = how == "skip" ? model::OutcomeKind::skipped : model::OutcomeKind::failed;
  if (how == "in_cell") {
    talk.init();
    talk.run_cells(0, 1);
    talk.begin_cell(1);
  } else {
    talk.enter(wire::WorkerPhase::communicator_init);
  }
  talk.send(wire::Failure{{kind, "no socket interface found", {talk.rank()}}, -1});
  ::_exit(1);
}
