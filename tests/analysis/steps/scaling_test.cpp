// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/scaling.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::steps;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using model::StepParts;

namespace {

// 1 rank: no communication, 350 ns. Two ranks: 5 ns more in each of four pieces of computing; rank
// 1 is another 20 ns late; bucket 1 is exposed for 60 ns, and on rank 0 also for the 20 ns of its
// wait.
model::TrialRecord& add_scaling_trial(RunBuilder& run,
                                      StepParts without = StepParts::communication) {
  model::TrialRecord& scaling_trial = *run.trial();
  StepLengths alone{.bucket_0 = 0, .bucket_1 = 0, .idle = 0};
  model::StepLabel one{.model = "m", .ranks = {0}};
  model::StepLabel two{.model = "m", .ranks = {0, 1}};
  add_step_cell(scaling_trial, {.label = one, .lengths = {alone}});
  add_step_cell(
      scaling_trial,
      {.label = two, .lengths = {{105, 105, 105, 80, 80, 55, 10}, {105, 105, 125, 80, 60, 55}}});
  if (without != StepParts::compute)
    return scaling_trial;
  two.parts = StepParts::compute;
  add_step_cell(scaling_trial,
                {.label = two, .lengths = {{.idle = 0}, {.backward_2 = 110, .idle = 0}}});
  return scaling_trial;
}

double share(const ScalingPoint& point, Loss loss) {
  return point.account.of(loss);
}

} // namespace

TEST_CASE("The loss account names each part of what is lost, and adds up") {
  RunBuilder run(2);
  add_scaling_trial(run, StepParts::compute);
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  auto all = scalings(results);

  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == ScalingKind::weak);
  REQUIRE(all[0].points.size() == 2);
  CHECK(all[0].points[0].efficiency.value == Approx(1));
  const ScalingPoint& two = all[0].points[1];
  const double step_ns = 105 + 105 + 125 + 60 + 55 + 10;
  CHECK(two.step_ns == Approx(step_ns));
  CHECK(two.efficiency.value == Approx(350 / step_ns));
  CHECK(two.account.slowdown_known);
  CHECK(share(two, Loss::exposed_transfer) == Approx(60 / step_ns));
  CHECK(share(two, Loss::stragglers) == Approx(10 / step_ns)); // rank 0 waits for 20
  CHECK(share(two, Loss::exposed_wait) == Approx(0).margin(1e-12));
  CHECK(share(two, Loss::slowed_compute) == Approx((380 - 355) / step_ns));
  CHECK(share(two, Loss::idle) == Approx(10 / step_ns));
  CHECK(share(two, Loss::other) == Approx(5 / step_ns)); // rank 1 is slower for another reason
  CHECK(two.account.sum() == Approx(1 - two.efficiency.value).epsilon(1e-12));
  CHECK(verdict_sentence(two) ==
        "at 2 ranks 76.1%; of the 23.9% lost, 13.0 is uncovered transfer, 5.4 compute slowed by "
        "communication");
  CHECK_FALSE(two.account.clocks_known);
}

TEST_CASE("What is said of a loss does not add up to more than the loss") {
  auto sentence = [](std::vector<std::pair<Loss, double>> terms) {
    LossAccount account;
    for (auto [loss, share] : terms)
      account.terms[static_cast<std::size_t>(loss)] = share;
    return loss_sentence(account, "communication");
  };
  CHECK(sentence({{Loss::exposed_transfer, 0.083}, {Loss::other, -0.07}}) ==
        "of the 1.3% lost, 8.3 is uncovered transfer, minus 7.0 gained in other");
  CHECK(sentence({{Loss::exposed_transfer, 0.208}, {Loss::slowed_compute, -0.006}}) ==
        "of the 20.2% lost, 20.8 is uncovered transfer, minus 0.6 gained in computing beside "
        "communication");
  CHECK(sentence({{Loss::exposed_transfer, 0.2}, {Loss::idle, 0.02}, {Loss::clocks, -0.003}}) ==
        "of the 21.7% lost, 20.0 is uncovered transfer");
  CHECK(sentence({{Loss::idle, 0.0009}, {Loss::preparation, 0.0004}}) ==
        "of the 0.1% lost, 0.1 is idle");
}

TEST_CASE("Without the step's computing by itself, its slowdown is not told apart") {
  RunBuilder run(2);
  add_scaling_trial(run);
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  auto all = scalings(results);

  REQUIRE(all.size() == 1);
  const ScalingPoint& two = all[0].points[1];
  CHECK_FALSE(two.account.slowdown_known);
  CHECK(share(two, Loss::slowed_compute) == 0);
  CHECK(share(two, Loss::other) == Approx(30.0 / 460));
  CHECK(two.account.sum() == Approx(1 - two.efficiency.value).epsilon(1e-12));
}

TEST_CASE("Strong scaling: n ranks should take the n-th part of the time") {
  RunBuilder run(2);
  auto trial = run.trial();
  model::StepLabel one{.model = "m", .ranks = {0}, .batch = 8};
  one.options.scaling = model::Scaling::strong;
  model::StepLabel two = one;
  two.ranks = {0, 1};
  two.batch = 4;
  add_step_cell(*trial, {.label = one, .lengths = {{.bucket_0 = 0, .bucket_1 = 0}}});
  StepLengths half{50, 50, 50, 40, 20, 25, 5};
  add_step_cell(*trial, {.label = two, .lengths = {half, half}});
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  auto all = scalings(results);

  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == ScalingKind::strong);
  const ScalingPoint& point = all[0].points[1];
  CHECK(point.efficiency.value == Approx(360.0 / 2 / 200));
  CHECK(share(point, Loss::exposed_transfer) == Approx(20.0 / 200));
  CHECK(share(point, Loss::idle) == Approx(0).margin(1e-12));
  CHECK(point.account.sum() == Approx(1 - point.efficiency.value).epsilon(1e-12));
}

TEST_CASE("Ranks that share a replica of the model share its samples") {
  model::StepLabel step{.options = {.pattern = model::StepPattern::tp},
                        .model = "m",
                        .ranks = {0, 1, 2, 3},
                        .batch = 8};
  CHECK(samples_per_step(step) == 8);
  step.options.pattern = model::StepPattern::ddp;
  CHECK(samples_per_step(step) == 32);
  step.options.pattern = model::StepPattern::ddp_tp;
  CHECK(samples_per_step(step) == 16);
  step.options.tensor = 4;
  CHECK(samples_per_step(step) == 8);
}

TEST_CASE("Whatever the steps, the account's terms add up to what is lost") {
  std::mt19937 random(7);
  auto any = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  auto any_side = [&] {
    AccountSide side{
        {.exposed_wait_ns = any(50), .exposed_transfer_ns = any(90), .idle_ns = any(30)}};
    side.times.exposed_copy_ns = any(40);
    side.times.prepare_ns = any(20);
    side.times.compute_ns = side.times.prepare_ns + any(500) + 1;
    side.times.step_ns = side.times.compute_ns + side.times.exposed_ns() +
                         side.times.exposed_copy_ns + side.times.idle_ns;
    side.stragglers_ns = any(side.times.exposed_wait_ns);
    if (any(3) > 1)
      side.sm_clock_mhz = 1000 + any(1000);
    return side;
  };
  for (int i = 0; i < 1000; ++i) {
    AccountSide base = any_side(), at = any_side();
    double ideal = any(2);
    std::optional<AccountSide> alone;
    if (i % 2 == 0)
      alone = any_side();

    double efficiency = ideal * base.times.step_ns / at.times.step_ns;
    double sum = loss_account(base, at, ideal, alone).sum();

    CHECK(std::abs(sum - (1 - efficiency)) < 1e-12 * std::max(1.0, efficiency));
  }
}

TEST_CASE("Several processes give the efficiency and the account an interval") {
  RunBuilder run(2);
  for (int id = 0; id < 3; ++id)
    add_scaling_trial(run, StepParts::compute);
  // The second process's GPUs are 46 ns slower at two ranks.
  for (model::Mark& mark : run.trials[1].cells[1].marks)
    if (mark.operation == 23) // "step end"
      mark.at_ns += 46;
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  auto all = scalings(results);

  REQUIRE(all.size() == 1);
  const ScalingPoint& two = all[0].points[1];
  CHECK(two.efficiency.processes == 3);
  REQUIRE(two.efficiency.interval.has_value());
  CHECK(two.efficiency.interval->low < two.efficiency.value);
  CHECK(two.account.sum() == Approx(1 - two.efficiency.value).epsilon(1e-12));
  REQUIRE(two.intervals[static_cast<std::size_t>(Loss::idle)].has_value());
}

TEST_CASE(
    "Clocks below the base's are a term of the account, out of what computing lost by itself") {
  RunBuilder run(2);
  add_scaling_trial(run, StepParts::compute);
  auto clock = [&](std::size_t cell, int rank, int mhz) {
    run.trials[0].cells[cell].conditions.push_back(
        {.rank = rank, .when = model::Condition::When::during, .sm_clock_mhz = mhz});
  };
  clock(0, 0, 2000);
  clock(0, 1, 345); // looks on
  clock(1, 0, 1000);
  clock(2, 0, 1980); // the two ranks without communication
  clock(2, 1, 1940);
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  auto all = scalings(results);

  REQUIRE(all.size() == 1);
  const ScalingPoint& two = all[0].points[1];
  const double step_ns = 460;
  CHECK(two.account.clocks_known);
  CHECK(share(two, Loss::clocks) == Approx(355 * (1 - 1960.0 / 2000) / step_ns));
  CHECK(share(two, Loss::other) == Approx((355 * 0.98 - 350) / step_ns));
  CHECK(two.account.sum() == Approx(1 - two.efficiency.value).epsilon(1e-12));
}

TEST_CASE("Two processes are too few for an interval, and it says so") {
  RunBuilder run(2);
  add_scaling_trial(run);
  add_scaling_trial(run);
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  CHECK_THAT(verdict_sentence(scalings(results)[0].points[1]),
             ContainsSubstring("76.1% (2 processes are too few for an interval); of the"));
}

TEST_CASE("Throttling stands in the account's remarks") {
  RunBuilder run(2);
  add_scaling_trial(run);
  auto& conditions = run.trials[0].cells[1].conditions;
  conditions.push_back({.rank = 1, .when = model::Condition::When::during, .sm_clock_mhz = 1500});
  conditions.back().throttle_reasons = 0x4;
  run.trials[0].cells[0].conditions.push_back(
      {.rank = 0, .when = model::Condition::When::during, .sm_clock_mhz = 1980});
  auto pooled = setting_results(run);
  auto results = step_results(run, pooled);

  auto all = scalings(results);

  REQUIRE(all.size() == 1);
  CHECK(
      all[0].points[1].remarks ==
      std::vector<std::string>{"GPUs throttled at 2 ranks in 1 of 1 processes: software power cap",
                               "SM clock 1500 MHz at 2 ranks, 1980 MHz at 1"});
}
