// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/source_text.h"

#include "support/catch.h"

using namespace ncclprobe::topology;

TEST_CASE("escape codes and carriage returns are taken out of lines") {
  CHECK(plain_lines("\t\033[4mGPU0\033[0m\r\nx") == std::vector<std::string>{"\tGPU0", "x"});
  CHECK(plain_lines("a\033[1;32mb\033[") == std::vector<std::string>{"ab"});
  CHECK(plain_lines("a\033[\nb") == std::vector<std::string>{"a", "b"});
  CHECK(plain_lines("").size() == 1);
}

TEST_CASE("lines are counted from one") {
  CHECK(line_at("a\nb\nc", 0) == 1);
  CHECK(line_at("a\nb\nc", 2) == 2);
  CHECK(line_at("a\nb\nc", 999) == 3);
}

TEST_CASE("blanks around text are taken off") {
  CHECK(trimmed("\t a b \r\n") == "a b");
  CHECK(trimmed(" \t ").empty());
}
