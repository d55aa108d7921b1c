// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/run_builder.h"
#include "analysis/verdict/slowest_trial.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;

namespace {

model::Run run_of(const std::vector<std::vector<std::int64_t>>& times_ns_of_trials) {
  model::Run run = make_gpu_run(1);
  for (const auto& times_ns : times_ns_of_trials) {
    auto trial = make_trial({.id = static_cast<int>(run.trials.size()),
                             .replicate = static_cast<int>(run.trials.size()),
                             .ranks = 1});
    std::uint64_t bytes = 1000;
    for (std::int64_t time_ns : times_ns)
      add_cell(trial, make_cell("broadcast", bytes *= 2), make_record(1, time_ns));
    run.trials.push_back(trial);
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
