// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Measures, and reports wrong data for every cell. It has ncclprobe's version, because it takes
// part in runs of the real program.
#include "talk.h"

#include "base/version.h"

#include <unistd.h>

using namespace ncclprobe;

NCCLPROBE_TEST_WORKER(wrong_data) {
  test_worker::Talk talk(test_worker::Guard::yes, std::string(base::version()));
  talk.init();
  for (int cell = 0; cell < talk.cells(); ++cell) {
    talk.begin_cell(cell);
    const model::Outcome wrong{model::OutcomeKind::wrong_data, "as planted", {talk.rank()}};
    const model::CheckResult found{true, 10, 1, "as planted", ""};
    talk.send(wire::CellEnd{cell, {wrong, found, {{talk.rank(), 0, 20, 1000}}, {}}});
  }
  talk.done();
  ::_exit(0);
}
