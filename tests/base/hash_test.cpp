// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/hash.h"
#include "support/catch.h"

using ncclprobe::base::Hash;
using ncclprobe::base::mixed;

TEST_CASE("hashes are those that the algorithms' authors publish") {
  CHECK(Hash().value() == 0xcbf29ce484222325);
  CHECK(Hash().add("foobar").value() == 0x85944171f73967e8);
  CHECK(mixed(0) == 0xe220a8397b1dcdaf);
}

TEST_CASE("a number is hashed as its eight bytes, with its sign") {
  using namespace std::string_view_literals;
  CHECK(Hash().add(0x6162).value() == Hash().add("ba\0\0\0\0\0\0"sv).value());
  CHECK(Hash().add(-1).value() == Hash().add(std::int64_t{-1}).value());
}
