// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "wire/mark_columns.h"

#include <limits>

using namespace ncclprobe;
using model::Mark;

namespace {

std::string packed(const std::vector<Mark>& marks) {
  wire::Packer packer;
  wire::pack_marks(packer, marks);
  return packer.take();
}

} // namespace

TEST_CASE("marks arrive as they were packed, none too") {
  std::vector<Mark> marks{{0, 1, 2, 3, -4},
                          {7, 0, 0, 65'535, std::numeric_limits<std::int64_t>::max()},
                          {7, 0, 1, 0, std::numeric_limits<std::int64_t>::min()}};
  for (const auto& some : {marks, std::vector<Mark>{}}) {
    std::string bytes = packed(some);
    wire::Unpacker unpacker(bytes);

    CHECK(wire::unpack_marks(unpacker) == some);
    CHECK_NOTHROW(unpacker.expect_end());
  }
}

TEST_CASE("more marks than there are bytes of them are refused before memory is asked for") {
  std::string bytes = packed({{0, 0, 0, 0, 0}, {0, 0, 0, 1, 5}});
  bytes.resize(bytes.size() - 1);
  wire::Unpacker cut(bytes);
  std::string claims_many(8, '\x7f');
  wire::Unpacker absurd(claims_many);

  CHECK_THROWS_AS(wire::unpack_marks(cut), base::Exception);
  CHECK_THROWS_AS(wire::unpack_marks(absurd), base::Exception);
}
