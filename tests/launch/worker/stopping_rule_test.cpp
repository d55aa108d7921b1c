// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/stopping_rule.h"
#include "support/catch.h"

#include <numeric>

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

namespace {

std::vector<double> count_up(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

} // namespace

// Le Boudec, Performance Evaluation of Computer and Communication Systems, table A.1 (95%).
TEST_CASE("the interval of a median is that of the published table") {
  struct Row {
    int n, low, high;
  };
  auto row = GENERATE(Row{6, 1, 6}, Row{9, 2, 8}, Row{12, 3, 10}, Row{20, 6, 15}, Row{30, 10, 21},
                      Row{70, 27, 44});

  auto interval = worker::median_interval(count_up(row.n));

  REQUIRE(interval);
  CHECK(interval->low == row.low);
  CHECK(interval->high == row.high);
  CHECK(interval->median == (row.n + 1) / 2.0);
}

TEST_CASE("fewer than 6 values tell no interval, and order does not matter") {
  CHECK_FALSE(worker::median_interval({}));
  CHECK_FALSE(worker::median_interval(count_up(5)));
  CHECK(worker::median_interval({6, 1, 5, 2, 4, 3})->low == 1);
}

TEST_CASE("without an interval the cell ends with its batches") {
  worker::SampleLimits limits = worker::limits_for({5, 20, 5, 1000}, {20, 5});

  CHECK(worker::vote(limits, count_up(4), 1000) == worker::Vote::more);
  CHECK(worker::vote(limits, count_up(5), 0) == worker::Vote::enough);
}

TEST_CASE("with an interval the cell ends when it is narrow, the count is used up, or the time") {
  model::Timing timing{5, 20, 5, 0};
  timing.target_interval = 0.01;
  timing.max_batches = 10;
  worker::SampleLimits limits = worker::limits_for(timing, {20, 5});
  std::vector<double> same(6, 100.0);

  CHECK(worker::vote(limits, std::vector<double>(5, 100.0), 0) == worker::Vote::more);
  CHECK(worker::vote(limits, same, 0) == worker::Vote::enough);
  CHECK(worker::vote(limits, count_up(9), 0) == worker::Vote::more);
  CHECK(worker::vote(limits, count_up(10), 0) == worker::Vote::enough);
  limits.budget_ns = 1000;
  CHECK(worker::vote(limits, count_up(9), 1001) == worker::Vote::out_of_time);
}

TEST_CASE("a budget that is spent ends the cell, with whatever it has") {
  worker::SampleLimits limits = worker::limits_for({5, 20, 5, 1000}, {20, 5});

  CHECK(worker::vote(limits, count_up(1), 1001) == worker::Vote::out_of_time);
  CHECK(worker::is_out_of_time(limits, 1001));
  CHECK_FALSE(worker::is_out_of_time(limits, 1000));
  limits.budget_ns = 0;
  CHECK_FALSE(worker::is_out_of_time(limits, 1'000'000));
}

TEST_CASE("more launches than an int holds are counted") {
  model::Timing timing{5, 1'000'000, 5000, 0};
  timing.mode = model::TimingMode::latency;

  CHECK(worker::limits_for(timing, {1'000'000, 5000}).most == 5'000'000'000);
}

TEST_CASE("both sides of the interval must be near the median") {
  model::Timing timing{5, 20, 5, 0};
  timing.target_interval = 0.05;
  worker::SampleLimits limits = worker::limits_for(timing, {20, 5});

  CHECK(worker::vote(limits, {100, 100, 100, 100, 100, 104}, 0) == worker::Vote::enough);
  CHECK(worker::vote(limits, {100, 100, 100, 100, 100, 106}, 0) == worker::Vote::more);
  CHECK(worker::vote(limits, {94, 100, 100, 100, 100, 100}, 0) == worker::Vote::more);
}

TEST_CASE("in latency mode launches are counted, and time is looked at as they go") {
  model::Timing timing{5, 20, 5, 1000};
  timing.mode = model::TimingMode::latency;
  worker::SampleLimits limits = worker::limits_for(timing, {20, 5});

  CHECK(limits.least == 100);
  CHECK(limits.most == 100);
  CHECK(worker::vote(limits, count_up(40), 1001) == worker::Vote::out_of_time);
  CHECK(worker::vote(limits, count_up(40), 999) == worker::Vote::more);
}
