// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/overlap.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using model::StepParts;

namespace {

StepCellArguments cell(StepParts parts, const StepLengths& lengths) {
  return {.label = {.model = "m", .ranks = {0, 1}, .parts = parts}, .lengths = {lengths, lengths}};
}

// In the whole step computation takes a tenth longer and the buckets a fifth.
void add_overlap_trial(RunBuilder& run, std::int64_t idle = 0) {
  model::TrialRecord& overlap_trial = *run.trial();
  add_step_cell(overlap_trial, cell(StepParts::all, {110, 110, 110, 96, 72, 55, idle}));
  add_step_cell(overlap_trial, cell(StepParts::compute, {.idle = 0}));
  add_step_cell(overlap_trial, cell(StepParts::communication, {.idle = 0}));
}

} // namespace

TEST_CASE("Overlap is told from the step as a whole and each of its halves") {
  RunBuilder run(2);
  add_overlap_trial(run);
  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  auto overlaps = steps::overlaps(results);

  REQUIRE(overlaps.size() == 1);
  const steps::Overlap& one = overlaps.front();
  CHECK(one.serial_ns == Approx(350 + 140));
  CHECK(one.best_ns == Approx(350));
  // T = 110 + 110 + 110 + 72 + 55 = 457
  CHECK(one.all->times.step_ns == Approx(457));
  CHECK(one.efficiency->value == Approx((490.0 - 457) / 140));
  CHECK_FALSE(one.efficiency->interval.has_value());
  CHECK(one.compute_slowdown->value == Approx(1.1));
  CHECK(one.communication_slowdown->value == Approx(1.2));
}

TEST_CASE("Every process gives one value of the overlap, and they an interval") {
  RunBuilder run(2);
  add_overlap_trial(run);
  add_overlap_trial(run, 14);

  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);
  auto overlaps = steps::overlaps(results);

  REQUIRE(overlaps.size() == 1);
  CHECK(overlaps[0].efficiency->value == Approx((490.0 - 464) / 140));
  CHECK(overlaps[0].efficiency->processes == 2);
  // 0.05 either side: standard error 0.05, 12.706 of them for 95% with one degree of freedom.
  CHECK(overlaps[0].efficiency->interval->low == Approx(26.0 / 140 - 12.7062 * 0.05));
}

TEST_CASE("Without one of the halves nothing is known of the overlap") {
  RunBuilder run(2);
  auto trial = run.trial();
  add_step_cell(*trial, cell(StepParts::all, {}));
  add_step_cell(*trial, cell(StepParts::compute, {}));

  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  CHECK(results.size() == 2);
  CHECK(steps::overlaps(results).empty());
}

TEST_CASE("Nothing is told of the overlap where an input copy is beside it") {
  RunBuilder run(2);
  auto trial = run.trial();
  for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication}) {
    StepCellArguments copied = cell(parts, {.copy = 20});
    copied.label.options.input_copy = {.bytes = 1024};
    add_step_cell(*trial, copied);
  }

  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  CHECK(results.size() == 3);
  CHECK(steps::overlaps(results).empty());
}
