// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/printable.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace ncclprobe::base;
using namespace std::string_literals;

TEST_CASE("text without anything unsafe stays as it is") {
  for (const std::string text :
       {"", "plain", "l\xc3\xa4ufe/run.h5", "\xce\xbcs \xe2\x94\x9c \xe6\x97\xa5",
        "\xf0\x9f\x98\x80", "a\tb\nc\r\nd"})
    CHECK(escape_unsafe(text) == text);
}

TEST_CASE("what a terminal would obey is escaped") {
  CHECK(escape_unsafe("\x1b[2J") == "\\u001b[2J");
  CHECK(escape_unsafe("a\0b"s) == "a\\u0000b");
  CHECK(escape_unsafe("a\rb\x7f\b") == "a\\u000db\\u007f\\u0008");
  CHECK(escape_unsafe("\xc2\x9b[2J") == "\\u009b[2J"); // a control character of two bytes
  CHECK(escape_unsafe("\x9b[2J") == "\\x9b[2J");       // and of one
}

TEST_CASE("what hides or reorders text is escaped") {
  CHECK(escape_unsafe("\xe2\x80\xaegnp\xe2\x81\xa6") == "\\u202egnp\\u2066");
  CHECK(escape_unsafe("a\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf") == "a\\u200b\\u2028\\ufeff");
  CHECK(escape_unsafe("\xf3\xa0\x81\x81") == "\\udb40\\udc41"); // a tag, U+E0041
}

TEST_CASE("bytes that are no UTF-8 are escaped one by one") {
  CHECK(escape_unsafe("\xc3") == "\\xc3");          // cut short
  CHECK(escape_unsafe("\xc0\x9b") == "\\xc0\\x9b"); // longer than it need be
  CHECK(escape_unsafe("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");
  CHECK(escape_unsafe("\xed\xa0\x80") == "\\xed\\xa0\\x80"); // half of a pair
  CHECK(escape_unsafe("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
  CHECK(escape_unsafe("\xe2\x1b[m") == "\\xe2\\u001b[m");
}

TEST_CASE("escaped JSON means what it meant") {
  const std::string value = "\\ \xe2\x80\xae \xc2\x9b \x7f \xf3\xa0\x81\x81 \\u202e";
  const nlohmann::json document{{value, value}};

  const std::string escaped = escape_unsafe(document.dump(2));

  CHECK(std::ranges::all_of(escaped, [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); }));
  CHECK(nlohmann::json::parse(escaped) == document);
}

TEST_CASE("a value on one line has neither escape sequences nor line ends") {
  CHECK(printable("\x1b[1;31mred\x1b[0m\tand\nblue") == "red and?blue");
  CHECK(printable("\xc2\x9b[2J \x9b \xe2\x80\xae \0"s) == "?[2J ? ? ?");
  CHECK(printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(printable("\x1b[31") == "");
}
