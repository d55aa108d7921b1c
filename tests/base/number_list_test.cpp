// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/number_list.h"
#include "support/catch.h"

using namespace ncclprobe::base;

TEST_CASE("lists of CPUs are read as the kernel writes them") {
  CHECK(parse_number_list("0-2,8,10-11") == std::vector<int>{0, 1, 2, 8, 10, 11});
  CHECK(parse_number_list("").empty());
  for (const char* nonsense : {"x", "1-", "3-1", "1;2", "0-99999999", "-1"})
    CHECK(parse_number_list(nonsense).empty());
}

TEST_CASE("numbers are listed in order, with runs shortened, and read back") {
  CHECK(format_number_list({6, 3, 0, 1, 2, 10, 11}) == "0-3,6,10,11");
  CHECK(format_number_list({}).empty());
  CHECK(parse_number_list(format_number_list({0, 1, 2, 8})) == std::vector<int>{0, 1, 2, 8});
}

TEST_CASE("a list that says the same over and over is refused") {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "0-8191,";

  CHECK(parse_number_list(text + "0").empty());
}
