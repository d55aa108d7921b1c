// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_fit.h"
#include "support/catch.h"

#include <cmath>
#include <functional>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::ClockKind;
using trace::ClockRow;

namespace {

constexpr std::uint64_t k_second_ns = 1'000'000'000;

ClockRow reading(std::uint64_t at_ns, std::int64_t offset_ns, std::uint64_t error_ns) {
  return {at_ns, offset_ns, error_ns, 2 * error_ns, ClockKind::globaltimer};
}

// Its true offset by its own time, and readings that are off by up to their error.
struct TestClock {
  std::uint64_t begin_ns = 1'795'370'534'928'145'185; // as a GPU's timer counts
  std::int64_t base_ns = -1'795'370'534'000'000'000;
  std::function<double(double)> offset_ns; // beside base_ns, by ns since begin_ns
  std::mt19937_64 random{5};

  double truth(std::uint64_t own_ns) const { return offset_ns(difference(own_ns, begin_ns)); }
  ClockRow read(std::uint64_t after_ns, std::uint64_t error_ns) {
    std::uniform_real_distribution<double> off(-1, 1);
    const double wrong = off(random) * static_cast<double>(error_ns);
    const std::uint64_t own_ns = begin_ns + after_ns;
    return reading(own_ns, base_ns + std::llround(truth(own_ns) + wrong), error_ns + 1);
  }
  double error(const ClockModel& model, std::uint64_t own_ns) const {
    const std::int64_t found_ns =
        model.to_reference(own_ns) - static_cast<std::int64_t>(own_ns) - base_ns;
    return std::abs(static_cast<double>(found_ns) - truth(own_ns));
  }
};

} // namespace

TEST_CASE("A line through exact readings is that line") {
  auto model =
      fit_clock({reading(1000, 500, 10), reading(1'001'000, 530, 10), reading(2'001'000, 560, 10)});
  REQUIRE(model);
  CHECK(model->mean_rate() == Approx(30e-6).epsilon(1e-9));
  CHECK(model->to_reference(1000) == 1500);
  CHECK(model->to_reference(1'001'000) == 1'001'530);
  CHECK(model->error_at(1'500'000) == Approx(10));
  CHECK(model->pieces == 1);
  CHECK(model->readings == 3);
  // Outside of the readings either end may be off by 10 ns, in opposite directions.
  CHECK(model->error_at(2'001'000 + 2'000'000) == Approx(10 + 20));
  CHECK(model->worst_error_ns(1000, 4'001'000) == Approx(10 + 20));
  CHECK(model->error_near(1'500'000 + 545) == Approx(10));
}

TEST_CASE("Readings too close to each other tell no rate") {
  auto one = fit_clock({reading(5000, -70, 40)});
  REQUIRE(one);
  CHECK(one->to_reference(5000) == 4930);
  CHECK(one->error_at(5000) == Approx(40));
  CHECK(one->error_at(1'000'005'000) == Approx(40 + 1e5)); // may drift by 100 us a second
  // A line through both middles would gain 40,000 ppm.
  auto burst = fit_clock({reading(5000, -70, 40), reading(6000, -30, 40)});
  REQUIRE(burst);
  CHECK(burst->to_reference(5500) == 5450);
  CHECK(burst->error_at(5500) == Approx(20).margin(0.1)); // both allow -70 to -30
  CHECK_FALSE(fit_clock(std::vector<ClockRow>{}));
}

TEST_CASE("A wide reading costs nothing") {
  std::vector<ClockRow> readings{reading(0, 0, 8), reading(1'000'000'000, 4, 8),
                                 reading(2'000'000'000, -3, 8)};
  const auto narrow = fit_clock(readings);
  readings.push_back(reading(1'500'000'000, -12'000'000, 12'450'000));
  readings.push_back(reading(2'000'000'000, 2'000'000, 2'000'100));
  const auto with_wide = fit_clock(readings);
  REQUIRE(with_wide);
  CHECK(with_wide->pieces == 1);
  CHECK(with_wide->contradicted.empty());
  for (std::uint64_t at : {std::uint64_t{0}, k_second_ns, 2 * k_second_ns, 5 * k_second_ns}) {
    CHECK(with_wide->error_at(at) == Approx(narrow->error_at(at)));
    CHECK(with_wide->to_reference(at) == narrow->to_reference(at));
  }
}

TEST_CASE("The truth is within the error of clocks that drift, whatever their readings") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> share(0, 1);
  for (int trial = 0; trial < 400; ++trial) {
    TestClock clock;
    clock.random.seed(static_cast<std::uint64_t>(trial));
    const double rate = (2 * share(random) - 1) * 9e-5, offset = (2 * share(random) - 1) * 1e9;
    clock.offset_ns = [=](double after_ns) { return offset + rate * after_ns; };
    std::vector<ClockRow> readings;
    const int count = 1 + static_cast<int>(share(random) * 20);
    for (int i = 0; i < count; ++i) {
      const double error_ns = std::pow(10, 2 + 5 * share(random)); // 0.1 us to 10 ms
      readings.push_back(clock.read(static_cast<std::uint64_t>(share(random) * 1e10),
                                    static_cast<std::uint64_t>(error_ns)));
    }
    const auto model = fit_clock(readings);
    REQUIRE(model);
    CHECK(model->pieces == 1);
    CHECK(model->widened_ns == 0);
    CHECK(model->contradicted.empty());
    for (std::uint64_t i = 0; i <= 160; ++i) {
      const std::uint64_t own_ns = clock.begin_ns - 2 * k_second_ns + i * k_second_ns / 10;
      REQUIRE(clock.error(*model, own_ns) <= model->error_at(own_ns) + 1);
    }
    for (const ClockRow& row : readings) // no worse than the best reading of that moment
      REQUIRE(model->error_at(row.at_ns) <= static_cast<double>(row.error_ns) + 1);
  }
}

TEST_CASE("A reading that all others contradict is named and left out") {
  TestClock clock;
  clock.offset_ns = [](double after_ns) { return -17e-6 * after_ns; };
  std::vector<ClockRow> readings;
  for (std::uint64_t i = 0; i < 9; ++i)
    readings.push_back(clock.read(i * k_second_ns, 20'000));
  readings[6].offset_ns += 3'000'000;

  const auto model = fit_clock(readings);

  REQUIRE(model);
  CHECK(model->pieces == 1);
  CHECK(model->widened_ns == 0);
  REQUIRE(model->contradicted.size() == 1);
  CHECK(model->contradicted[0].source == 6);
  CHECK(model->contradicted[0].own_ns == clock.begin_ns + 6 * k_second_ns);
  CHECK(model->contradicted[0].by_ns == Approx(3'000'000).margin(60'000));
  for (std::uint64_t i = 0; i < 90; ++i) {
    const std::uint64_t own_ns = clock.begin_ns + i * k_second_ns / 10;
    CHECK(clock.error(*model, own_ns) <= model->error_at(own_ns) + 1);
  }
  CHECK(model->error_at(clock.begin_ns + 4 * k_second_ns) < 21'000);

  readings[2].offset_ns -= 500'000; // two of them
  const auto two = fit_clock(readings);
  REQUIRE(two->contradicted.size() == 2);
  CHECK(two->contradicted[0].source == 2);
  CHECK(two->contradicted[1].source == 6);
  CHECK(two->widened_ns == 0);
}

TEST_CASE("Where it is not clear who is wrong nobody is left out, and the error says so") {
  auto model =
      fit_clock({reading(0, 0, 5), reading(1'000'000'000, 30, 5), reading(2'000'000'000, 0, 5)});
  REQUIRE(model);
  CHECK(model->contradicted.empty());
  CHECK(model->pieces == 1);
  CHECK(model->widened_ns == Approx(10));
  CHECK(model->error_at(1'000'000'000) == Approx(10)); // what all had to give way
  CHECK(model->to_reference(1'000'000'000) == 1'000'000'015);
}

TEST_CASE("A clock that bends is fitted in parts, and the truth is within the error") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  TestClock clock;
  clock.random.seed(seed);
  double most_error_ns = 0;
  SECTION("as temperatures change") { // up to 4 ms off any line in an hour
    clock.offset_ns = [](double after_ns) { return 5e6 * std::sin(after_ns / 1e12); };
    most_error_ns = 40'000;
  }
  SECTION("at one moment") {
    clock.offset_ns = [](double after_ns) {
      return after_ns < 2e12 ? 20e-6 * after_ns : 4e7 - 15e-6 * (after_ns - 2e12);
    };
    most_error_ns = 300'000;
  }
  std::vector<ClockRow> readings;
  for (std::uint64_t i = 0; i < 3600; ++i)
    readings.push_back(clock.read(i * k_second_ns, i % 10 == 3 ? 2'000'000 : 20'000));

  const auto model = fit_clock(readings);

  REQUIRE(model);
  CHECK(model->pieces > 1);
  CHECK(model->bend_ns > 0);
  CHECK(model->widened_ns == 0);
  CHECK(model->contradicted.size() <= 1); // beside a wide one, where the rate jumps
  double worst_ns = 0;
  std::size_t beyond = 0;
  for (std::uint64_t i = 0; i < 35'990; ++i) {
    const std::uint64_t own_ns = clock.begin_ns + i * k_second_ns / 10;
    worst_ns = std::max(worst_ns, model->error_at(own_ns));
    beyond += clock.error(*model, own_ns) > model->error_at(own_ns) + 1;
    REQUIRE(model->to_reference(own_ns + 1000) > model->to_reference(own_ns)); // time goes on
  }
  CHECK(beyond <= 72); // 0.2%: how far a clock bends between its readings is an estimate
  CHECK(worst_ns < most_error_ns);
}

TEST_CASE("A clock that was set is known on both sides of that, and not in between") {
  TestClock clock;
  clock.offset_ns = [](double after_ns) { return after_ns < 9.5e9 ? 0 : 7e6; };
  std::vector<ClockRow> readings;
  for (std::uint64_t i = 0; i < 20; ++i)
    readings.push_back(clock.read(i * k_second_ns, 10'000));

  const auto model = fit_clock(readings);

  REQUIRE(model);
  CHECK(model->pieces > 1);
  for (std::uint64_t i = 0; i < 190; ++i) {
    const std::uint64_t own_ns = clock.begin_ns + i * k_second_ns / 10;
    REQUIRE(clock.error(*model, own_ns) <= model->error_at(own_ns) + 1);
  }
  CHECK(model->error_at(clock.begin_ns + 4 * k_second_ns) < 100'000);
  CHECK(model->error_at(clock.begin_ns + 15 * k_second_ns) < 100'000);
  CHECK(model->error_at(clock.begin_ns + 9'500'000'000) > 3'000'000);
}

TEST_CASE("Of very many bounds the tightest leave the same clock") {
  TestClock clock;
  clock.offset_ns = [](double after_ns) { return 12e-6 * after_ns; };
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<OffsetBound> bounds;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const std::uint64_t own_ns = clock.begin_ns + i * 100'000;
    const double truth_ns = clock.truth(own_ns), away_ns = 2000 + 1e6 * share(clock.random);
    const bool is_least = i % 2 == 0;
    bounds.push_back({own_ns,
                      clock.base_ns + std::llround(truth_ns + (is_least ? -away_ns : away_ns)), 0,
                      is_least ? OffsetBound::Side::at_least : OffsetBound::Side::at_most, i});
  }
  const auto all = fit_clock(bounds);
  const std::vector<OffsetBound> few = tightest(bounds);
  CHECK(few.size() < 10'000);
  const auto model = fit_clock(few);
  REQUIRE(model);
  for (std::uint64_t i = 0; i <= 100; ++i) {
    const std::uint64_t own_ns = clock.begin_ns + i * k_second_ns / 10;
    REQUIRE(model->error_at(own_ns) == Approx(all->error_at(own_ns)).margin(1e-3));
    REQUIRE(clock.error(*model, own_ns) <= model->error_at(own_ns) + 1);
  }
  CHECK(model->error_at(clock.begin_ns + 5 * k_second_ns) < 5000);
}

TEST_CASE("Times and offsets of a damaged file give some clock, and nothing else") {
  for (const std::uint64_t at : {std::uint64_t{0}, UINT64_MAX})
    for (const std::int64_t offset : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
      const auto model = fit_clock({reading(1, 1, 1), reading(at, offset, UINT64_MAX),
                                    reading(UINT64_MAX / 2, INT64_MAX, 0), reading(at, 3, 0)});
      REQUIRE(model);
      (void)model->to_reference(at);
      CHECK(model->error_at(at) >= 0);
    }
}
