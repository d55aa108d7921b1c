// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/recurring_lateness.h"
#include "support/catch.h"

#include <cmath>
#include <random>

using namespace ncclprobe::analysis::timeline;

namespace {

// 0.02 to 0.6 ms, plus 3 ms if `is_late(step)`.
template <typename IsLate>
std::vector<LatenessOfStep> steps_with(std::size_t count, IsLate is_late, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<LatenessOfStep> steps;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_last = is_late(i) || share(random) < 0.7;
    const double usual_ns = 20'000 * std::pow(30, share(random));
    steps.push_back(is_last ? LatenessOfStep{usual_ns + (is_late(i) ? 3e6 : 0), 10'000}
                            : LatenessOfStep{});
  }
  return steps;
}

} // namespace

TEST_CASE("A rank that is late in every fifth step is found, with by how much") {
  const auto found = recurring_lateness(steps_with(40, [](std::size_t i) { return i % 5 == 4; }));
  REQUIRE(found);
  CHECK(found->steps == 40);
  CHECK(found->late == 8);
  CHECK(found->when_late.value_ns > 3e6);
  CHECK(found->when_late.value_ns < 3.6e6);
  CHECK(found->when_late.error_ns == Approx(10'000));
  CHECK(found->else_ns < 200'000);
  REQUIRE(found->recurrence);
  CHECK(found->recurrence->every == 5);
  CHECK(found->recurrence->first == 4);
  CHECK(found->recurrence->steps == 8);
}

TEST_CASE("A slow begin and a step that is missed do not hide it") {
  auto steps = steps_with(200, [](std::size_t i) { return i % 7 == 2; });
  steps[0] = {100e6, 10'000};
  steps[1] = {20e6, 10'000};
  steps[9] = {};
  const auto found = recurring_lateness(steps);
  REQUIRE(found->recurrence);
  CHECK(found->recurrence->every == 7);
  CHECK(found->recurrence->first == 2);
  CHECK(found->when_late.value_ns < 3.7e6);
}

TEST_CASE("Lateness now and then at no regular distance is told without one") {
  const auto found = recurring_lateness(steps_with(60, [](std::size_t i) {
    return i == 3 || i == 11 || i == 12 || i == 30 || i == 47 || i == 55;
  }));
  CHECK(found->late == 6);
  CHECK(found->when_late.value_ns > 3e6);
  CHECK_FALSE(found->recurrence);
}

TEST_CASE("A rank that is as late in all steps has one group") {
  std::vector<LatenessOfStep> steps;
  for (int i = 0; i < 40; ++i)
    steps.push_back({3e6 + 1e4 * (i % 4), 1e4});
  const auto found = recurring_lateness(steps);
  CHECK(found->last == 40);
  CHECK(found->when_last.value_ns == Approx(3.015e6));
  CHECK(found->late == 0);
  CHECK_FALSE(recurring_lateness(std::vector<LatenessOfStep>(20)));
}

TEST_CASE("Ranks that come last in turns are not late now and then") {
  std::vector<LatenessOfStep> steps(50);
  std::mt19937_64 random(4);
  for (LatenessOfStep& step : steps)
    if (random() % 2 == 0)
      step = {50'000.0 + static_cast<double>(random() % 20'000), 1'500};
  CHECK(recurring_lateness(steps)->late == 0);
}

TEST_CASE("Chance makes a regular distance in one of 100 cases at most") {
  int found = 0, groups = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto one = recurring_lateness(steps_with(
        40, [](std::size_t) { return false; }, seed));
    found += one && one->recurrence;
    groups += one && one->late > 0;
  }
  CHECK(found <= 20);
  CHECK(groups <= 20);
}
