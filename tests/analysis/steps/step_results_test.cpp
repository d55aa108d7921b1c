// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/step_builder.h"
#include "analysis/steps/step_results.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

void add_idle_trial(RunBuilder& run, std::int64_t idle) {
  auto trial = run.trial().cell("all_reduce", 1024, 1000);
  StepLengths lengths{.idle = idle};
  add_step_cell(*trial, {.label = {.model = "m", .ranks = {0, 1}, .batch = 8},
                         .lengths = {lengths, lengths}});
}

} // namespace

TEST_CASE("A step's figures are medians over processes, its parts mean shares") {
  RunBuilder run(2);
  for (std::int64_t idle : {10, 30, 50})
    add_idle_trial(run, idle);

  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  REQUIRE(results.size() == 1); // no collective
  const steps::StepResult& one = results.front();
  CHECK(one.times.step_ns == Approx(440));
  CHECK(one.times.idle_ns == Approx(440.0 / 3 * (10.0 / 420 + 30.0 / 440 + 50.0 / 460)));
  CHECK(one.times.compute_ns + one.times.exposed_ns() + one.times.idle_ns == Approx(440));
  CHECK(one.ranks.at(1).step_ns == Approx(440));
  REQUIRE(one.buckets.size() == 2);
  CHECK(one.buckets[1].end_ns == Approx(360));
  CHECK(one.refusals.empty());
  CHECK(describe_step(one) == "ddp m, f32, batch 8, bucket=25MiB first=1MiB");
}

TEST_CASE("Where ranks share the samples of a step, all of them are told") {
  model::StepLabel step{.model = "m", .ranks = {0, 1}, .batch = 4};
  step.options.scaling = model::Scaling::strong;

  CHECK(steps::describe_step(step) ==
        "ddp m, f32, batch 8 shared by all ranks, strong bucket=25MiB first=1MiB");
}

TEST_CASE("A process whose marks are damaged is left out, and the reason is kept") {
  RunBuilder run(2);
  add_idle_trial(run, 10);
  add_idle_trial(run, 30);
  run.trials[1].cells[1].marks.pop_back();

  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  REQUIRE(results.size() == 1);
  CHECK(results[0].processes.size() == 1);
  REQUIRE(results[0].refusals.size() == 1);
  CHECK_THAT(results[0].refusals[0], ContainsSubstring("trial 1: rank 1, batch 1, step 1"));
}

TEST_CASE("A device's memory is the most that was read") {
  RunBuilder run(2);
  add_idle_trial(run, 10);
  for (std::uint64_t bytes : {5, 9, 7}) {
    auto& condition = run.trials[0].cells[1].conditions.emplace_back();
    condition.when = model::Condition::When::during;
    condition.memory_used_bytes = bytes;
  }

  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  CHECK(results[0].most_memory_bytes == std::uint64_t{9});
}
