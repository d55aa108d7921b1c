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

TEST_CASE("what is unknown of every GPU is named below the table, and takes no room in it") {
  std::string text = topology::render_summary(topology_test::read_machine("four-t4.xml"), {{}});

  CHECK_THAT(text,
             ContainsSubstring("GPU  bus id         CC  NUMA  PCIe now of max  NVLinks up\n"));
  CHECK_THAT(text, ContainsSubstring("? of gen3 x8"));
  CHECK_THAT(text, ContainsSubstring("unknown for every GPU: model, memory, ECC, MIG, SM clock, "
                                     "fabric\n"));
}
