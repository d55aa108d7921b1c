// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_model.h"
#include "support/catch.h"

#include <cmath>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::ClockKind;
using trace::ClockRow;

namespace {

ClockRow reading(std::uint64_t at_ns, std::int64_t offset_ns, std::uint64_t error_ns,
                 ClockKind kind = ClockKind::host) {
  return {at_ns, offset_ns, error_ns, 2 * error_ns, kind};
}

// A clock that the leader reads by ping-pong. It is off and drifts; messages take a while, longer
// one way than the other.
struct TestClock {
  double offset_ns;
  double drift; // leader's ns gained per own ns
  std::mt19937 random{5};

  double leader_ns(double own_ns) const { return own_ns + offset_ns + drift * own_ns; }

  // SKaMPI's envelope: the best of `tries` ping-pongs bounds the offset from both sides.
  ClockRow read(std::uint64_t own_ns, int tries) {
    double lowest = -INFINITY, highest = INFINITY;
    for (int i = 0; i < tries; ++i) {
      double there = 400 + static_cast<double>(random() % 3000);
      double back = 700 + static_cast<double>(random() % 9000);
      double offset = leader_ns(static_cast<double>(own_ns)) - static_cast<double>(own_ns);
      // The leader stamps `there` before and `back` after the other's stamp.
      lowest = std::max(lowest, offset - there);
      highest = std::min(highest, offset + back);
    }
    return reading(own_ns, std::llround((lowest + highest) / 2),
                   static_cast<std::uint64_t>(std::ceil((highest - lowest) / 2)) + 1);
  }
};

} // namespace

TEST_CASE("Times with errors are printed with as many digits as they have") {
  CHECK(format_us({3100, 800}) == "3.1 +- 0.8 us");
  CHECK(format_us({1500, 800}) == "not shown (below 2 x 0.8 us)");
  CHECK(format_us({1600, 800}) == "1.6 +- 0.8 us");
  CHECK(format_us({-3100, 0}) == "-3.1 us");
  CHECK(format_us({0, 0}) == "0.0 us");
  CHECK(format_us({1234, 12}) == "1.23 +- 0.01 us");
  CHECK(format_us({123456, 10000}) == "123 +- 10 us");
}

TEST_CASE("A line through exact readings is that line") {
  auto model =
      fit_clock({reading(1000, 500, 10), reading(1'001'000, 530, 10), reading(2'001'000, 560, 10)});
  REQUIRE(model);
  CHECK(model->rate == Approx(30e-6).epsilon(1e-9));
  CHECK(model->to_reference(1000) == 1500);
  CHECK(model->to_reference(1'001'000) == 1'001'530);
  CHECK(model->error_ns == Approx(10).margin(1e-6));
  CHECK(model->worst_residual_ns == Approx(0).margin(1e-6));
  CHECK(model->contradictions == 0);
  // Outside of the readings either end may be off by 10 ns, in opposite directions.
  CHECK(model->error_at(2'001'000 + 2'000'000) == Approx(10 + 20));
  CHECK(model->error_at(1'500'000) == Approx(10).margin(1e-6));
}

TEST_CASE("The residual of the readings is part of the bound") {
  // Equal weights: the line is y = 0 at the mean, 10 off at the middle reading.
  auto model = fit_clock(
      {reading(0, 0, 100), reading(1'000'000'000, 30, 100), reading(2'000'000'000, 0, 100)});
  REQUIRE(model);
  CHECK(model->worst_residual_ns == Approx(20));
  CHECK(model->error_ns == Approx(120));
  CHECK(model->contradictions == 0);
  auto precise =
      fit_clock({reading(0, 0, 5), reading(1'000'000'000, 30, 5), reading(2'000'000'000, 0, 5)});
  CHECK(precise->contradictions == 3); // a clock that was stepped
}

TEST_CASE("Precise readings count more") {
  auto model = fit_clock(
      {reading(0, 0, 1), reading(1'000'000'000, 0, 1), reading(2'000'000'000, 1000, 100'000)});
  REQUIRE(model);
  CHECK(std::abs(model->to_reference(0)) <= 1);
  CHECK(std::abs(model->to_reference(1'000'000'000) - 1'000'000'000) <= 1);
}

TEST_CASE("Readings too close to each other tell no rate") {
  auto one = fit_clock({reading(5000, -70, 40)});
  REQUIRE(one);
  CHECK(one->rate == 0);
  CHECK(one->to_reference(5000) == 4930);
  CHECK(one->error_at(5000) == Approx(40));
  CHECK(one->error_at(1'000'005'000) == Approx(40 + 1e5)); // may drift by 100 us a second
  // A fit would say 40,000 ppm.
  auto burst = fit_clock({reading(5000, -70, 40), reading(6000, -30, 40)});
  REQUIRE(burst);
  CHECK(burst->rate == 0);
  CHECK(burst->to_reference(5500) == 5450);
  CHECK(burst->error_ns == Approx(40 + 20 + 0.1));
  CHECK_FALSE(fit_clock({}));
}

TEST_CASE("An injected offset and drift are recovered within the stated bound") {
  for (double drift : {-48e-6, 0.0, 3e-7, 50e-6})
    for (double offset_ns : {-8e12, 0.0, 1.5e6}) {
      TestClock clock{offset_ns, drift};
      std::vector<ClockRow> readings;
      for (std::uint64_t epoch = 0; epoch < 5; ++epoch)
        readings.push_back(clock.read(10'000'000'000 + epoch * 2'000'000'000, 100));
      auto model = fit_clock(readings);
      REQUIRE(model);
      CHECK(model->contradictions == 0);
      CHECK(model->error_ns < 1000);
      for (std::uint64_t own = 8'000'000'000; own <= 21'000'000'000; own += 123'456'789) {
        double truth = clock.leader_ns(static_cast<double>(own));
        double wrong = std::abs(static_cast<double>(model->to_reference(own)) - truth);
        REQUIRE(wrong <= model->error_at(own) + 1);
      }
      CHECK(std::abs(model->rate - drift) <= 2 * model->error_ns / 8e9);
    }
}

TEST_CASE("Clocks of a tree of hosts are composed and their errors add up") {
  TestClock leaf{4'000'000, 20e-6}, node{-9'000'000'000, -30e-6};
  std::vector<ClockRow> of_leaf, of_node;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    of_leaf.push_back(leaf.read(20'000'000'000 + epoch * 1'000'000'000, 100));
    of_node.push_back(node.read(20'000'000'000 + epoch * 1'000'000'000, 100));
  }
  auto inner = fit_clock(of_leaf), outer = fit_clock(of_node);
  ClockModel both = compose(*inner, *outer);
  CHECK(both.error_ns == Approx(inner->error_ns + outer->error_ns));
  for (std::uint64_t own = 20'000'000'000; own <= 23'000'000'000; own += 100'000'000) {
    double truth = node.leader_ns(leaf.leader_ns(static_cast<double>(own)));
    double wrong = std::abs(static_cast<double>(both.to_reference(own)) - truth);
    REQUIRE(wrong <= both.error_at(own) + 2);
  }
}

TEST_CASE("Ranks of one host share a clock, others need readings") {
  std::vector<RankHead> heads{
      {0, "a", {reading(10, 30, 50)}, {}}, // compared with a rank of its own host
      {1, "a", {reading(10, 90, 50)}, {}},
      {2, "b", {reading(1000, 7000, 200)}, {}},
      {3, "b", {}, {}},
      {4, "c", {reading(5, 1, 1, ClockKind::globaltimer)}, {}}};
  Clocks clocks = fit_clocks(heads);
  CHECK(clocks.hosts == 3);
  CHECK(clocks.same_host_readings == 2);
  CHECK(clocks.same_host_contradictions == 1);
  CHECK(clocks.same_host_error_ns == 50);
  CHECK(clocks.ranks.at(1).host->to_reference(123) == 123);
  CHECK(clocks.ranks.at(3).host->to_reference(1000) == 8000);
  CHECK_FALSE(clocks.ranks.at(4).host);
  CHECK(clocks.ranks.at(4).gpu);
  CHECK_FALSE(clocks.ranks.at(0).gpu);
  CHECK_FALSE(clocks.all_known());
  CHECK(clocks.pair_error_ns(0, 1) == 0);
  CHECK(clocks.pair_error_ns(2, 3) == 0);
  CHECK(clocks.pair_error_ns(0, 2) == Approx(200));
}
