// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/json_lines.h"

#include "support/catch.h"

using namespace ncclprobe::topology;

TEST_CASE("elements of JSON are found on their lines") {
  const char* text = "{\n\"a\": [1,\n2,\n{\"b\":\n{}}],\n\"c\": {\"d\": null,\n\"e\": \"\\n\"}}";

  CHECK(json_line_of(text, "") == 1);
  CHECK(json_line_of(text, "/a") == 2);
  CHECK(json_line_of(text, "/a/0") == 2);
  CHECK(json_line_of(text, "/a/1") == 3);
  CHECK(json_line_of(text, "/a/2") == 4);
  CHECK(json_line_of(text, "/a/2/b") == 5);
  CHECK(json_line_of(text, "/c/e") == 7);
  CHECK(json_line_of("[\n1\n,\n2\n]", "/0") == 2);
  CHECK(json_line_of("[\n1\n,\n2\n]", "/1") == 4);
}

TEST_CASE("for an element that is not there, the last one on the way to it counts") {
  const char* text = "{\n\"a\": [\n{\"b\": 1},\n{}\n]\n}";

  CHECK(json_line_of(text, "/a/1/b") == 4);
  CHECK(json_line_of(text, "/a/7") == 2);
  CHECK(json_line_of(text, "/x") == 1);
  CHECK(json_line_of("[1, oops", "/9") == 1);
  CHECK(json_line_of("", "/9") == 1);
}
