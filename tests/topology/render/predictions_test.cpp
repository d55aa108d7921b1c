// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/render/predictions.h"

using namespace ncclprobe::topology;

TEST_CASE("links of unknown rate are counted, not listed one by one") {
  // A matrix names 28 pairs of GPUs by their NVLinks, and no rates.
  std::string text =
      render_ceilings(ncclprobe::topology_test::read_machine("eight-h200-vm.topo-m.txt"));

  CHECK_THAT(text, ContainsSubstring("unknown: rates of 28 links, such as "));
  CHECK(text.find("unknown: rate") == text.rfind("unknown: rate"));
}
