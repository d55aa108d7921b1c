// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Puts the values of the variables that LEAK names into all that it says: its output, the evidence
// and, in cell 1, the reason for its failure.
#include "talk.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(leak) {
  using namespace ncclprobe;
  test_worker::Talk talk;
  std::string secret;
  std::istringstream names(std::getenv("LEAK"));
  for (std::string name; names >> name;)
    secret += std::string(" ") + std::getenv(name.c_str());
  std::fprintf(stderr, "the output has%s\n", secret.c_str());
  talk.init();
  talk.run_cells(0, 1);
  talk.send(wire::Evidence{
      {talk.rank(), "NCCL INFO the log has" + secret + "\n", "profiler " + secret, {}}});
  if (!test_worker::chosen()) {
    talk.run_cells(1, talk.cells());
    talk.done();
    ::_exit(0);
  }
  talk.begin_cell(1);
  talk.send(
      wire::Failure{{model::OutcomeKind::failed, "the failure has" + secret, {talk.rank()}}, -1});
  ::_exit(1);
}
