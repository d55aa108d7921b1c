// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "support/catch.h"

#include <regex>

using namespace ncclprobe::base;
using namespace std::chrono_literals;

TEST_CASE("the clock never goes back") {
  std::int64_t last_ns = monotonic_ns();
  for (int i = 0; i < 10'000; ++i) {
    std::int64_t now_ns = monotonic_ns();
    REQUIRE(now_ns >= last_ns);
    last_ns = now_ns;
  }
}

TEST_CASE("a deadline of no time has expired and has nothing left") {
  Deadline deadline = Deadline::after(0ns);

  CHECK(deadline.expired());
  CHECK(deadline.left_ns() == 0);
  CHECK(deadline.left_ms(100) == 0);
}

TEST_CASE("a deadline in the past has nothing left, not less than nothing") {
  Deadline deadline = Deadline::after(-1h);

  CHECK(deadline.left_ns() == 0);
  CHECK(deadline.left_ms(100) == 0);
}

TEST_CASE("a deadline ahead has not expired and its wait is capped by the limit") {
  Deadline deadline = Deadline::after(1h);

  CHECK_FALSE(deadline.expired());
  CHECK(deadline.left_ns() > 3'500'000'000'000);
  CHECK(deadline.left_ns() <= 3'600'000'000'000);
  CHECK(deadline.left_ms(250) == 250);
}

TEST_CASE("a wait is rounded up, so that poll does not wake before the deadline") {
  Deadline deadline = Deadline::after(1h + 1ns);

  CHECK(deadline.left_ms(10'000'000) > 3'599'000);
  CHECK(deadline.left_ms(10'000'000) <= 3'600'001);
  // less than a millisecond ahead is a whole one, until it is over
  Deadline soon = Deadline::after(900us);
  int wait_ms = soon.left_ms(100);
  CHECK((wait_ms == 1 || soon.expired()));
}

TEST_CASE("never does not expire") {
  CHECK_FALSE(Deadline::never().expired());
  CHECK(Deadline::never().left_ms(20) == 20);
}

TEST_CASE("UTC has the form of ISO 8601") {
  CHECK(
      std::regex_match(utc_now(), std::regex(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ)")));
}
