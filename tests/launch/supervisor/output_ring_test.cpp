// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/output_ring.h"
#include "support/catch.h"

using ncclprobe::launch::last_lines;
using ncclprobe::launch::OutputRing;

TEST_CASE("a ring keeps the last bytes, however they came") {
  for (std::size_t piece : {1U, 3U, 7U, 10U, 64U}) {
    OutputRing ring(10);
    std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";

    for (std::size_t at = 0; at < text.size(); at += piece)
      ring.append(text.substr(at, piece));

    CHECK(ring.tail(100) == "qrstuvwxyz");
  }
}

TEST_CASE("a ring that is not full gives all it has") {
  OutputRing ring(10);
  ring.append("abc");
  ring.append("de");

  CHECK(ring.tail(100) == "abcde");
}

TEST_CASE("a tail starts with a whole line if it holds one") {
  OutputRing ring(100);
  ring.append("first line\nsecond line\nthird\n");

  CHECK(ring.tail(14) == "third\n");
  CHECK(ring.tail(18) == "second line\nthird\n");
  CHECK(ring.tail(3) == "rd\n");
}

TEST_CASE("a tail is printable UTF-8 whatever was written") {
  OutputRing ring(100);
  ring.append("ok \xC3\xA4 \xE2\x82\xAC \xFF \x1B[31m \xC0\x80 \xED\xA0\x80\tend \xE2\x82");

  CHECK(ring.tail(100) == "ok \xC3\xA4 \xE2\x82\xAC ? ?[31m ?? ???\tend ??");
}

TEST_CASE("last lines skip empty ones and keep their order") {
  CHECK(last_lines("one\n\ntwo\n  \nthree\n\n", 2) == "two | three");
  CHECK(last_lines("only", 3) == "only");
  CHECK(last_lines("\n\n", 3).empty());
  CHECK(last_lines("", 3).empty());
}

TEST_CASE("last lines of any length make a reason of bounded length") {
  CHECK(last_lines(std::string(100'000, 'x'), 3).size() < 500);
}
