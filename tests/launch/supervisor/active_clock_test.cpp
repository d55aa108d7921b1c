// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/active_clock.h"
#include "support/catch.h"

using ncclprobe::launch::ActiveClock;
using namespace std::chrono_literals;

TEST_CASE("nothing becomes due in a time in which the supervisor was stopped") {
  ActiveClock clock;
  std::int64_t due_ns = clock.in(1h);

  clock.exclude(2h);

  CHECK_FALSE(clock.past(due_ns));
  CHECK(clock.past(clock.in(0s)));
  CHECK_FALSE(clock.past(ActiveClock::k_never));
}
