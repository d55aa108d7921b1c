// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/read/cpu_mask.h"

using namespace ncclprobe::topology;

TEST_CASE("masks of CPUs are read in groups of 32, the highest first") {
  CHECK(parse_cpu_mask("00000001,80000003") == std::vector<int>{0, 1, 31, 32});
  CHECK(parse_cpu_mask("f") == std::vector<int>{0, 1, 2, 3});
  CHECK(parse_cpu_mask("0") == std::vector<int>{});
}

TEST_CASE("what is no mask of CPUs is refused") {
  std::string endless = "ffffffff";
  for (int i = 0; i < 300; ++i)
    endless += ",ffffffff";

  for (const std::string& text : {std::string(), std::string(","), std::string("f,"),
                                  std::string("0x1"), std::string("100000000"), endless}) {
    INFO(text);
    CHECK_FALSE(parse_cpu_mask(text));
  }
}

TEST_CASE("masks are written as they are read") {
  for (const char* text : {"000000ff,ffff0000,00ffffff", "00000001", "00000000"})
    CHECK(parse_cpu_mask(format_cpu_mask(*parse_cpu_mask(text))) == parse_cpu_mask(text));
  CHECK(format_cpu_mask({0, 32}) == "00000001,00000001");
}
