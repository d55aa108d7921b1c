// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/printable.h"
#include "base/text_layout.h"
#include "support/catch.h"

using namespace ncclprobe;
using Lines = std::vector<std::string>;

TEST_CASE("words wrap at the width, long words are cut in their middle") {
  CHECK(base::wrap("one two three", 8) == Lines{"one two", "three"});
  CHECK(base::wrap("", 8) == Lines{""});
  CHECK(base::wrap("abcdefghijkl", 9) == Lines{"abc...jkl"});
}

TEST_CASE("a paragraph hangs under its text") {
  std::string text = base::paragraph("Title", std::string(60, 'a') + " " + std::string(60, 'b'), 8);

  CHECK(text == "Title   " + std::string(60, 'a') + "\n        " + std::string(60, 'b') + "\n");
}

TEST_CASE("control characters are replaced") {
  CHECK(base::printable("a\x1b[31;1mb\tc\x7f") == "ab c?");
  CHECK(base::printable("\x1b]0;title\x07") == "?]0;title?");
  CHECK(base::printable("\xc2\x9b"
                        "31m \xc3\xa4") == "?31m \xc3\xa4");
  CHECK(base::printable("cut \x1b[3") == "cut ");
  CHECK(base::printable("\x9b"
                        "2J \xe2\x80\xae \xe2\x81\xa6 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "?2J ? ? \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(base::printable("cut \xe2\x82") == "cut ??");
}

TEST_CASE("the last lines leave out empty ones") {
  CHECK(base::last_lines("one\n\ntwo\r\n  \nthree", 2) == Lines{"two", "three"});
  CHECK(base::last_lines("", 2).empty());
}

TEST_CASE("small numbers keep their digits") {
  CHECK(base::format_number(0.0008) == "0.0008");
  CHECK(base::format_number(0.0) == "0.00");
  CHECK(base::format_number(482.299) == "482.30");
  CHECK(base::format_number(std::nullopt) == "-");
}

TEST_CASE("a range of sizes names its ends and how many") {
  CHECK(base::format_size_range({1024}) == "1K");
  CHECK(base::format_size_range({1024, 65536, 1048576}) == "1K-1M (3 sizes)");
}

TEST_CASE("ratios near 1 and far from it are percentages with two digits or more") {
  CHECK(base::percent_above(1.00024) == "0.024%");
  CHECK(base::percent_above(1.0312) == "3.1%");
  CHECK(base::percent_above(6.1) == "510%");
}
