// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/weighted_fit.h"
#include "support/catch.h"

#include <random>

using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::cost_model;

TEST_CASE("Times that follow the features exactly give their factors") {
  auto fit = fit_times({{1, 1000}, {1, 1'000'000}, {1, 64'000'000}}, {10'100, 110'000, 6'410'000});

  REQUIRE(fit.has_value());
  CHECK(fit->factors[0] == Approx(10'000));
  CHECK(fit->factors[1] == Approx(0.1));
  CHECK(*fit->relative_deviation == Approx(0).margin(1e-9));
  CHECK(fit->at({1, 2000}) == Approx(10'200));
}

TEST_CASE("As many points as factors leave no interval") {
  auto fit = fit_times({{1, 10}, {1, 20}}, {30, 50});

  REQUIRE(fit.has_value());
  CHECK(fit->factors[1] == Approx(2));
  CHECK_FALSE(fit->intervals[0].has_value());
  CHECK_FALSE(fit->interval_at({1, 15}).has_value());
}

TEST_CASE("A factor is never below zero") {
  auto fit = fit_times({{1, 10}, {1, 20}, {1, 30}}, {5, 20, 32}); // the line through them: -8

  REQUIRE(fit.has_value());
  CHECK(fit->factors[0] == 0);
  CHECK_FALSE(fit->intervals[0].has_value());
  CHECK(fit->factors[1] > 0);
}

TEST_CASE("What cannot be fitted is not") {
  CHECK_FALSE(fit_times({{1, 10}}, {30}).has_value());
  CHECK_FALSE(fit_times({{1, 10}, {1, 10}}, {30, 31}).has_value()); // one size only
  CHECK_FALSE(fit_times({{1, 10}, {1, 20}}, {30, 0}).has_value());
}

TEST_CASE("Relative errors count alike for small and large") {
  // 10% off at the small end, exact at the large one: weights of 1/t would pull less.
  auto fit = fit_times({{1, 0}, {1, 0}, {1, 1e9}}, {90, 110, 1e9});

  REQUIRE(fit.has_value());
  CHECK(fit->factors[0] == Approx((1 / 90.0 + 1 / 110.0) / (1 / 8100.0 + 1 / 12100.0)));
}

TEST_CASE("Nineteen of twenty further measurements lie in their interval") {
  std::mt19937 random(3);
  std::normal_distribution<> scatter(0, 0.03);
  auto time = [&](double bytes) { return (12'000 + 0.005 * bytes) * (1 + scatter(random)); };
  int inside = 0;
  constexpr int k_trials = 1000;
  for (int i = 0; i < k_trials; ++i) {
    std::vector<std::vector<double>> features;
    std::vector<double> times;
    for (double bytes = 65'536; bytes < 1e9; bytes *= 4) {
      features.push_back({1, bytes});
      times.push_back(time(bytes));
    }
    auto interval = fit_times(features, times)->interval_at({1, 3e7});
    double next = time(3e7);
    inside += interval->low <= next && next <= interval->high;
  }
  CHECK(inside > 0.93 * k_trials);
  CHECK(inside < 0.97 * k_trials);
}
