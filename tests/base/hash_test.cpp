// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/hash.h"
#include "base/sha256.h"
#include "support/catch.h"

using namespace ncclprobe;
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

TEST_CASE("SHA-256 is that of FIPS 180") {
  CHECK(base::sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(base::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("HMAC-SHA-256 is that of RFC 4231") {
  CHECK(base::hmac_sha256("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}
