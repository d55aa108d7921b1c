// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/statistics/inference.h"
#include "support/catch.h"

#include <array>
#include <cmath>

using namespace ncclprobe::analysis;

namespace {

// welch_ratio takes logarithms: given logarithms, it compares the values themselves.
std::vector<double> exponentials(std::vector<double> values) {
  for (double& value : values)
    value = std::exp(value);
  return values;
}

} // namespace

// Data and p-values as R's t.test gives them (rosettacode.org, "Welch's t-test").
TEST_CASE("p-values are those of Welch's t-test") {
  auto first = welch_ratio(exponentials({27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6,
                                         23.1, 19.6, 19.0, 21.7, 21.4}),
                           exponentials({27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2,
                                         21.9, 22.1, 22.9, 20.5, 24.4}),
                           0.95);
  auto second =
      welch_ratio(exponentials({17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8}),
                  exponentials({21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
                                20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8}),
                  0.95);
  auto third =
      welch_ratio(exponentials({3.0, 4.0, 1.0, 2.1}), exponentials({490.2, 340.0, 433.9}), 0.95);

  CHECK(first->p == Approx(0.021378001462867).epsilon(1e-9));
  CHECK(second->p == Approx(0.148841696605327).epsilon(1e-9));
  CHECK(third->p == Approx(0.010751561149785).epsilon(1e-9));
}

// Two samples of 3 with variance 1: 4 degrees of freedom, whose 97.5% quantile is 2.7764451052
// (any table of Student's t).
TEST_CASE("the interval is the ratio times and over the t quantile of its standard error") {
  auto test = welch_ratio(exponentials({1, 2, 3}), exponentials({2, 3, 4}), 0.95);

  CHECK(test->ratio == Approx(std::exp(-1.0)));
  CHECK(test->degrees_of_freedom == Approx(4));
  CHECK(test->log_standard_error == Approx(std::sqrt(2.0 / 3)));
  double half = 2.7764451052 * std::sqrt(2.0 / 3);
  CHECK(test->interval.low == Approx(std::exp(-1 - half)));
  CHECK(test->interval.high == Approx(std::exp(-1 + half)));
  CHECK(detectable_ratio(*test, 0.05) == Approx(std::exp(half)));
}

TEST_CASE("values without scatter are not taken to be known better than 1e-4") {
  auto equal = welch_ratio({3, 3, 3}, {3, 3}, 0.95);
  auto one_tick = welch_ratio({10000, 10000, 10000}, {10001, 10001, 10001}, 0.95);
  auto different = welch_ratio({3, 3, 3}, {4, 4}, 0.95);

  CHECK(equal->p == Approx(1));
  CHECK(equal->log_standard_error == Approx(std::sqrt(2.0) * 1e-4));
  CHECK(one_tick->p > 0.3);
  CHECK(different->p < 1e-4);
  CHECK(different->p > 0);
  CHECK(different->ratio == Approx(0.75));
  CHECK(detectable_ratio(*different, 0.05) > 1);
}

TEST_CASE("speed-ups that articles claim are the ratios that a verdict shows") {
  // ResNet-50 and BERT-base iterations a second, RTX 4090 samples a second: CUDA 12.1 over 11.8.
  for (auto [after, before, gain] :
       {std::array{160.0, 142.0, 0.1268}, {107.0, 98.0, 0.0918}, {1245.0, 1180.0, 0.0551}}) {
    auto test = welch_ratio({after, after}, {before, before}, 0.95);
    REQUIRE(test);
    CHECK(test->ratio - 1 == Approx(gain).margin(0.00005));
  }
}

TEST_CASE("ratios of the same processes are tested against one") {
  // t = 2 / sqrt(1/3) with two degrees of freedom: p = 1 - t / sqrt(2 + t^2).
  auto test = paired_ratio(exponentials({1, 2, 3}), 0.95);

  REQUIRE(test.has_value());
  CHECK(test->ratio == Approx(std::exp(2)));
  CHECK(test->degrees_of_freedom == 2);
  CHECK(test->p == Approx(1 - std::sqrt(12.0 / 14)));
  CHECK(test->interval.low == Approx(std::exp(2 - 4.302653 * std::sqrt(1.0 / 3))));
  CHECK_FALSE(paired_ratio({1.5}, 0.95).has_value());
  CHECK_FALSE(paired_ratio({1.5, 0}, 0.95).has_value());
}

TEST_CASE("one value, or one that is not above zero, cannot be tested") {
  CHECK_FALSE(welch_ratio({1}, {1, 2}, 0.95).has_value());
  CHECK_FALSE(welch_ratio({1, 2}, {}, 0.95).has_value());
  CHECK_FALSE(welch_ratio({1, 0}, {1, 2}, 0.95).has_value());
}

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02
TEST_CASE("Holm's adjustment steps down and never falls") {
  auto adjusted = holm_adjusted({0.01, 0.04, 0.03, 0.005});

  REQUIRE(adjusted.size() == 4);
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(holm_adjusted({0.7, 0.8}) == std::vector<double>{1, 1});
  CHECK(holm_adjusted({}).empty());
}

// Ranks from the binomial distribution: 2 x P(at most 1 of 10) = 0.0215, of 2 = 0.109.
TEST_CASE("the median's interval is of order statistics, absent where there are too few") {
  auto ten = median_interval({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.95);
  REQUIRE(ten.has_value());
  CHECK(ten->low == 2);
  CHECK(ten->high == 9);

  auto six = median_interval({1, 2, 3, 4, 5, 6}, 0.95); // 2 x 1/64 = 0.031
  REQUIRE(six.has_value());
  CHECK(six->low == 1);
  CHECK(six->high == 6);
  CHECK_FALSE(median_interval({1, 2, 3, 4, 5}, 0.95).has_value()); // 2 x 1/32 = 0.0625
  CHECK_FALSE(median_interval({}, 0.95).has_value());
}

TEST_CASE("A mean over processes has Student's interval") {
  auto estimate = mean_estimate({1, 2, 3}, 0.95);
  CHECK(estimate.value == Approx(2));
  REQUIRE(estimate.interval.has_value());
  CHECK(estimate.interval->low == Approx(2 - 4.30265 / std::sqrt(3.0)));
  CHECK(estimate.interval->high == Approx(2 + 4.30265 / std::sqrt(3.0)));
  CHECK_FALSE(mean_estimate({1}, 0.95).interval.has_value());
}

TEST_CASE("A ratio over processes is the geometric mean, with the interval of its logarithm") {
  auto estimate = ratio_estimate({1, 4}, 0.95);
  CHECK(estimate.value == Approx(2));
  CHECK(estimate.interval->high == Approx(2 * std::exp(12.7062 * std::log(2.0))));
  auto equal = ratio_estimate({0.5, 0.5}, 0.95); // no standard error is below 1e-4
  CHECK(equal.interval->low == Approx(0.5 * std::exp(-12.7062e-4)).epsilon(1e-8));
}

TEST_CASE("how probable a ratio is where the true one is not above a bound") {
  auto test = welch_ratio({1.1, 1.2, 1.3}, {1.0, 1.1, 1.2}, 0.95);
  REQUIRE(test.has_value());
  CHECK(p_above(*test, 1) == Approx(test->p / 2)); // one-sided
  CHECK(p_above(*test, test->ratio) == Approx(0.5));
  CHECK(p_above(*test, test->interval.low) == Approx(0.025));
}
