// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/path.h"

#include "support/catch.h"

using namespace ncclprobe::topology;

TEST_CASE("labels of paths are read as they are written") {
  for (const char* label : {"X", "NV1", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS", "?"}) {
    auto path = parse_path_label(label);
    INFO(label);
    REQUIRE(path);
    CHECK(path->label() == label);
  }
}

TEST_CASE("what is no label of a path is refused") {
  for (const char* label : {"", "NV", "NV0", "NV-1", "NV18x", "NV99999999999", "pix", "PIX "}) {
    INFO(label);
    CHECK_FALSE(parse_path_label(label));
  }
}
