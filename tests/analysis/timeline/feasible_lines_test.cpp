// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/feasible_lines.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace ncclprobe::analysis::timeline;

namespace {

constexpr double k_most_rate = 1e-4;

// Lower and upper points `half` below and above a line.
FeasibleLines around(double offset, double rate, double half, const std::vector<double>& xs) {
  std::vector<LinePoint> lower, upper;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double y = offset + rate * xs[i];
    lower.push_back({xs[i], y - half, i});
    upper.push_back({xs[i], y + half, i});
  }
  return FeasibleLines(lower, upper, k_most_rate);
}

} // namespace

TEST_CASE("One reading leaves all lines through it that are not too steep") {
  FeasibleLines lines = around(500, 0, 10, {1000});
  CHECK(lines.lacking() == 0);
  CHECK(lines.at(1000).middle() == Approx(500));
  CHECK(lines.at(1000).half_width() == Approx(10));
  CHECK(lines.at(1'001'000).half_width() == Approx(10 + 100));
  CHECK(lines.at(-999'000).half_width() == Approx(10 + 100));
  CHECK(lines.knots() == std::vector<double>{1000});
}

TEST_CASE("Between readings lines are as well known as there, outside as far as rates allow") {
  FeasibleLines lines = around(500, 30e-6, 10, {0, 1e6, 2e6});
  CHECK(lines.least_rate() == Approx(20e-6));
  CHECK(lines.greatest_rate() == Approx(40e-6));
  for (double x : {0., 3e5, 1e6, 2e6}) {
    CHECK(lines.at(x).middle() == Approx(500 + 30e-6 * x));
    CHECK(lines.at(x).half_width() == Approx(10));
  }
  CHECK(lines.at(4e6).half_width() == Approx(10 + 20));
}

TEST_CASE("Where no line is left the least that all must give way is found, and who contradicts") {
  std::vector<LinePoint> lower, upper;
  for (auto [x, y] : {std::pair{0., 0.}, {1e9, 30.}, {2e9, 0.}, {3e9, 20.}}) {
    lower.push_back({x, y - 5, lower.size()});
    upper.push_back({x, y + 5, upper.size()});
  }
  FeasibleLines lines(lower, upper, k_most_rate);
  // The second is 20 above the range that the first and the third allow.
  CHECK(lines.lacking() == Approx(10));
  CHECK(lines.contradicting() == std::vector<std::size_t>{0, 1, 2});
  CHECK(lines.at(1e9).middle() == Approx(15));
}

TEST_CASE("Clocks that part faster than clocks do contradict each other") {
  std::vector<LinePoint> lower{{0, -5, 0}, {1e6, 295, 1}};
  std::vector<LinePoint> upper{{0, 5, 0}, {1e6, 305, 1}};
  FeasibleLines lines(lower, upper, k_most_rate);
  CHECK(lines.lacking() == Approx((300 - 10 - 100) / 2.));
  CHECK(lines.greatest_rate() == Approx(k_most_rate));
}

TEST_CASE("Hulls leave the same lines as all points, tried one by one") {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> share(0, 1);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LinePoint> lower, upper;
    const double rate = (2 * share(random) - 1) * 9e-5;
    const auto count = 1 + static_cast<std::size_t>(share(random) * 30);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = std::floor(share(random) * 1e9);
      lower.push_back({x, rate * x - 1000 * share(random), i});
      upper.push_back({x + 5, rate * x + 1000 * share(random), i});
    }
    FeasibleLines lines(lower, upper, k_most_rate);
    REQUIRE(lines.lacking() == 0);
    for (double x : {-1e8, 0., 5e8, 2e9}) {
      const auto range = lines.at(x);
      // The true line is among them.
      REQUIRE(range.low <= rate * x + 1e-3);
      REQUIRE(range.high >= rate * x - 1e-3);
      // Each end is reached by a line that all points allow, and nothing beyond it is.
      double low = INFINITY, high = -INFINITY;
      for (int step = 0; step <= 4000; ++step) {
        const double r = -k_most_rate + 2 * k_most_rate * step / 4000;
        double least = -INFINITY, most = INFINITY;
        for (const LinePoint& point : lower)
          least = std::max(least, point.y - r * point.x);
        for (const LinePoint& point : upper)
          most = std::min(most, point.y - r * point.x);
        if (least > most)
          continue;
        low = std::min(low, least + r * x);
        high = std::max(high, most + r * x);
      }
      if (low > high)
        continue; // too few rates were tried to find any
      REQUIRE(range.low <= low + 1e-3);
      REQUIRE(range.high >= high - 1e-3);
      const double step_ns = 2 * k_most_rate / 4000 * (std::abs(x) + 1e9);
      REQUIRE(range.low >= low - 2 * step_ns);
      REQUIRE(range.high <= high + 2 * step_ns);
    }
  }
}
