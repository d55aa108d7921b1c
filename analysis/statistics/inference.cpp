// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/statistics/inference.h"

#include "analysis/statistics/statistics.h"
#include "base/order_statistics.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace ncclprobe::analysis {
namespace {

// Lower limit of a mean's standard error, even if processes scatter little: clocks have ticks, and
// a few equal values do not prove that there is no scatter. Why this value: docs/method.md.
constexpr double k_least_log_error = 1e-4;

// Boost computes with long double unless it is asked not to. That takes three times as long, and
// reports show six digits.
using Precision = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using StudentsT = boost::math::students_t_distribution<double, Precision>;
using ChiSquared = boost::math::chi_squared_distribution<double, Precision>;

struct Moments {
  double count = 0;
  double mean = 0;
  double variance_of_mean = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments out{.count = static_cast<double>(values.size())};
  for (double value : values)
    out.mean += value / out.count;
  for (double value : values)
    out.variance_of_mean += std::pow(value - out.mean, 2);
  out.variance_of_mean /= (out.count - 1) * out.count;
  return out;
}

std::vector<double> logs_of(std::vector<double> values) {
  for (double& value : values)
    value = std::log(value);
  return values;
}

// Whether values have logarithms, and enough of them for these to scatter.
bool have_logs(const std::vector<double>& values) {
  return values.size() >= 2 && std::ranges::all_of(values, [](double value) { return value > 0; });
}

double variance_of_mean(const LogScatter& scatter, std::size_t count) {
  return std::max(scatter.variance / static_cast<double>(count),
                  k_least_log_error * k_least_log_error);
}

double upper_quantile(double degrees_of_freedom, double tail) {
  StudentsT distribution(degrees_of_freedom);
  return boost::math::quantile(boost::math::complement(distribution, tail));
}

// The mean of one value is that value.
Estimate estimate_of(const std::vector<double>& values, double confidence, double least_error) {
  if (values.size() < 2)
    return {.value = values.at(0), .interval = {}, .processes = 1};
  Moments moments = moments_of(values);
  double half = student_quantile(moments.count - 1, confidence) *
                std::max(std::sqrt(moments.variance_of_mean), least_error);
  return {.value = moments.mean,
          .interval = Interval{moments.mean - half, moments.mean + half},
          .processes = values.size()};
}

// Tests whether the ratio with that logarithm is 1.
RatioTest test_of(double log_ratio, double variance, double degrees_of_freedom, double confidence) {
  RatioTest test{.ratio = std::exp(log_ratio),
                 .interval = {},
                 .p = 1,
                 .degrees_of_freedom = degrees_of_freedom,
                 .log_standard_error = std::sqrt(variance)};
  StudentsT distribution(degrees_of_freedom);
  double t = std::abs(log_ratio) / test.log_standard_error;
  test.p = 2 * boost::math::cdf(boost::math::complement(distribution, t));
  double half = student_quantile(degrees_of_freedom, confidence) * test.log_standard_error;
  test.interval = {std::exp(log_ratio - half), std::exp(log_ratio + half)};
  return test;
}

} // namespace

double student_quantile(double degrees_of_freedom, double confidence) {
  return upper_quantile(degrees_of_freedom, (1 - confidence) / 2);
}

const Interval* telling(const Estimate& estimate) {
  constexpr std::size_t k_least_processes_of_interval = 3;
  return estimate.interval && estimate.processes >= k_least_processes_of_interval
             ? &*estimate.interval
             : nullptr;
}

Estimate mean_estimate(const std::vector<double>& values, double confidence) {
  return estimate_of(values, confidence, 0);
}

Estimate ratio_estimate(const std::vector<double>& ratios, double confidence) {
  Estimate out = estimate_of(logs_of(ratios), confidence, k_least_log_error);
  out.value = std::exp(out.value);
  if (out.interval)
    out.interval = Interval{std::exp(out.interval->low), std::exp(out.interval->high)};
  return out;
}

std::optional<LogScatter> log_scatter(const std::vector<double>& values) {
  if (!have_logs(values))
    return std::nullopt;
  Moments moments = moments_of(logs_of(values));
  return LogScatter{moments.variance_of_mean * moments.count, moments.count - 1};
}

LogScatter pooled(const LogScatter& a, const LogScatter& b) {
  const double degrees_of_freedom = a.degrees_of_freedom + b.degrees_of_freedom;
  return {(a.variance * a.degrees_of_freedom + b.variance * b.degrees_of_freedom) /
              degrees_of_freedom,
          degrees_of_freedom};
}

RatioTest ratio_test(double ratio, const RatioSide& over, const RatioSide& under,
                     double confidence) {
  double of_over = variance_of_mean(over.scatter, over.count);
  double of_under = variance_of_mean(under.scatter, under.count);
  double variance = of_over + of_under;
  // Welch-Satterthwaite
  double degrees_of_freedom = variance * variance /
                              (of_over * of_over / over.scatter.degrees_of_freedom +
                               of_under * of_under / under.scatter.degrees_of_freedom);
  return test_of(std::log(ratio), variance, degrees_of_freedom, confidence);
}

RatioTest ratio_test(double ratio, std::size_t over, std::size_t under, const LogScatter& of_both,
                     double confidence) {
  double variance = variance_of_mean(of_both, over) + variance_of_mean(of_both, under);
  return test_of(std::log(ratio), variance, of_both.degrees_of_freedom, confidence);
}

std::optional<RatioTest> welch_ratio(const std::vector<double>& over,
                                     const std::vector<double>& under, double confidence) {
  auto of_over = log_scatter(over), of_under = log_scatter(under);
  if (!of_over || !of_under)
    return std::nullopt;
  return ratio_test(geometric_mean(over) / geometric_mean(under), {over.size(), *of_over},
                    {under.size(), *of_under}, confidence);
}

std::optional<RatioTest> paired_ratio(const std::vector<double>& ratios, double confidence) {
  auto scatter = log_scatter(ratios);
  if (!scatter)
    return std::nullopt;
  return paired_ratio(geometric_mean(ratios), ratios.size(), *scatter, confidence);
}

RatioTest paired_ratio(double ratio, std::size_t count, const LogScatter& scatter,
                       double confidence) {
  return test_of(std::log(ratio), variance_of_mean(scatter, count), scatter.degrees_of_freedom,
                 confidence);
}

double p_above(const RatioTest& test, double bound) {
  const StudentsT distribution(test.degrees_of_freedom);
  const double t = std::log(test.ratio / bound) / test.log_standard_error;
  return boost::math::cdf(boost::math::complement(distribution, t));
}

double detectable_ratio(const RatioTest& test, double alpha) {
  return std::exp(upper_quantile(test.degrees_of_freedom, alpha / 2) * test.log_standard_error);
}

std::optional<int> values_to_decide(const RatioTest& test, double values, const TestPlan& plan,
                                    int most) {
  constexpr double k_too_small_by_chance = 0.2;
  const ChiSquared distribution(test.degrees_of_freedom);
  const double variance_of_one = std::pow(test.log_standard_error, 2) * values *
                                 test.degrees_of_freedom /
                                 boost::math::quantile(distribution, k_too_small_by_chance);
  const int sides = plan.sides == TestPlan::Sides::two ? 2 : 1;
  auto decides = [&](int count) {
    const double degrees_of_freedom = sides * (count - 1);
    const double errors = upper_quantile(degrees_of_freedom, plan.alpha / 2) +
                          upper_quantile(degrees_of_freedom, plan.missed);
    return errors * std::sqrt(variance_of_one / count) <= std::log(plan.ratio);
  };
  int too_few = 1, enough = 2;
  for (; !decides(enough); enough *= 2) {
    if (enough >= most)
      return std::nullopt;
    too_few = enough;
  }
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    (decides(middle) ? enough : too_few) = middle;
  }
  return enough <= most ? std::optional(enough) : std::nullopt;
}

std::optional<Interval> median_interval(std::vector<double> values, double confidence) {
  std::ranges::sort(values);
  auto left_out = base::left_out_of_median_interval(values.size(), confidence);
  if (!left_out)
    return std::nullopt;
  return Interval{values[*left_out], values[values.size() - 1 - *left_out]};
}

std::vector<double> holm_adjusted(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double so_far = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    double stepped = static_cast<double>(order.size() - i) * p_values[order[i]];
    so_far = std::max(so_far, std::min(stepped, 1.0));
    adjusted[order[i]] = so_far;
  }
  return adjusted;
}

} // namespace ncclprobe::analysis
