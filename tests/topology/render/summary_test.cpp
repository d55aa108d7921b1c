// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/golden.h"
#include "topology/machine_files.h"
#include "topology/render/summary.h"

using namespace ncclprobe;

TEST_CASE("a recorded machine is summed up as agreed") {
  support::check_golden(
      "topology-two-h200-vm.summary.txt",
      topology::render_summary(topology_test::read_machine("two-h200-vm.json"), {{}}));
}
