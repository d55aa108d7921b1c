// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "wire/packing.h"

using namespace ncclprobe;

TEST_CASE("packed values come back in order") {
  wire::Packer packer;
  packer.number<std::int64_t>(-5);
  packer.text(std::string("a\0b", 3));
  packer.numbers({3, -1, 2});
  packer.texts_by_rank({{0, "x"}, {7, ""}});
  std::string bytes = packer.take();

  wire::Unpacker unpacker(bytes);

  CHECK(unpacker.number<std::int64_t>() == -5);
  CHECK(unpacker.text() == std::string("a\0b", 3));
  CHECK(unpacker.numbers() == std::vector<int>{3, -1, 2});
  CHECK(unpacker.texts_by_rank() == std::map<int, std::string>{{0, "x"}, {7, ""}});
  CHECK_NOTHROW(unpacker.expect_end());
}

TEST_CASE("packed bytes that end early are refused at every length") {
  wire::Packer packer;
  packer.text("hello");
  packer.numbers({1, 2});
  packer.texts_by_rank({{0, "x"}});
  std::string bytes = packer.take();

  for (std::size_t size = 0; size < bytes.size(); ++size) {
    wire::Unpacker unpacker(std::string_view(bytes).substr(0, size));
    auto unpack_all = [&] {
      unpacker.text();
      unpacker.numbers();
      unpacker.texts_by_rank();
    };
    CHECK_THROWS_AS(unpack_all(), base::Exception);
  }
}

TEST_CASE("bytes that are left over are refused") {
  wire::Unpacker unpacker("x");

  CHECK_THROWS_AS(unpacker.expect_end(), base::Exception);
}
