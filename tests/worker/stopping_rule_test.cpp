// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "worker/stopping_rule.h"

using namespace ncclprobe;
using worker::Effort;
using worker::plan_effort;

TEST_CASE("without a budget everything asked for is run") {
  CHECK(plan_effort({5, 20, 5, 0}, 1e9) == Effort{20, 5});
}

TEST_CASE("a budget cuts iterations first, then batches, never below a spread") {
  CHECK(plan_effort({5, 20, 5, 1'000'000'000}, 1e6) == Effort{20, 5}); // 100 x 1 ms fits
  CHECK(plan_effort({5, 20, 5, 1'000'000'000}, 2e7) == Effort{10, 5}); // 50 iterations
  CHECK(plan_effort({5, 20, 5, 1'000'000'000}, 2.5e8) == Effort{1, 4});
  CHECK(plan_effort({5, 20, 5, 1'000'000'000}, 1e10) == Effort{1, 3});
  CHECK(plan_effort({5, 20, 2, 1'000'000'000}, 1e10) == Effort{1, 2}); // fewer were asked for
}

TEST_CASE("warm-up takes a quarter of the budget at most") {
  CHECK(worker::remaining_warmups({5, 20, 5, 0}, 1e9) == 4);
  CHECK(worker::remaining_warmups({5, 20, 5, 1'000'000'000}, 1e8) == 2);
  CHECK(worker::remaining_warmups({5, 20, 5, 1'000'000'000}, 1e10) == 0);
  CHECK(worker::remaining_warmups({0, 20, 5, 0}, 1e3) == 0);
}
