// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/split.h"
#include "support/catch.h"

using namespace ncclprobe::base;

using Parts = std::vector<std::string_view>;

TEST_CASE("text is split at separators, and empty parts are left out") {
  CHECK(split("ring,tree", ',') == Parts{"ring", "tree"});
  CHECK(split(",ring,,tree,", ',') == Parts{"ring", "tree"});
  CHECK(split("ring", ',') == Parts{"ring"});
  CHECK(split("", ',').empty());
  CHECK(split(",,", ',').empty());
}
