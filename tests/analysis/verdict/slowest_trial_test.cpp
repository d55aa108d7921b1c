// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/slowest_trial.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;

namespace {

RunBuilder run_of(const std::vector<std::vector<std::int64_t>>& times_ns_of_trials) {
  RunBuilder run(1);
  for (const auto& times_ns : times_ns_of_trials) {
    auto trial = run.trial();
    std::uint64_t bytes = 1000;
    for (std::int64_t time_ns : times_ns)
      trial.cell("broadcast", bytes *= 2, time_ns);
  }
  return run;
}

} // namespace

TEST_CASE("the slowest trial is slow in most of its cells") {
  // Trial 0 is slow in one cell of three, trial 2 in two.
  auto found =
      slowest_trial(setting_results(run_of({{900, 100, 100}, {100, 100, 100}, {100, 300, 300}})));

  REQUIRE(found);
  CHECK(found->trial == 2);
  CHECK(found->setting == "default");
  CHECK(found->slower == Approx(3));
}

TEST_CASE("a single trial has nothing beside it") {
  CHECK_FALSE(slowest_trial(setting_results(run_of({{100, 100}}))));
}
