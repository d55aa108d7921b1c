// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Does everything right, and writes what it does into the file DIARY. Before it ends it waits until
// the file contains the line LEAVE_AFTER.
#include "talk.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

namespace {

void note(const std::string& what, int trial) {
  std::string line = what + " " + std::to_string(trial) + "\n";
  int file = ::open(std::getenv("DIARY"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (::write(file, line.data(), line.size()) < 0)
    std::abort();
  ::close(file);
}

void wait_for(const std::string& wanted) {
  while (true) {
    std::ifstream diary(std::getenv("DIARY"));
    for (std::string line; std::getline(diary, line);)
      if (line == wanted)
        return;
    ::usleep(1000);
  }
}

} // namespace

NCCLPROBE_TEST_WORKER(diary) {
  using namespace ncclprobe;
  test_worker::Talk talk;
  note("loaded", talk.trial());
  talk.exchange(wire::k_turn_key, "");
  note("turn", talk.trial());
  talk.enter(wire::WorkerPhase::ready);
  talk.enter(wire::WorkerPhase::communicator_init);
  talk.exchange(wire::k_measure_key, "");
  note("measuring", talk.trial());
  talk.run_cells(0, talk.cells());
  note("measured", talk.trial());
  talk.done();
  if (const char* line = std::getenv("LEAVE_AFTER"))
    wait_for(line);
  note("left", talk.trial());
  ::_exit(0);
}
