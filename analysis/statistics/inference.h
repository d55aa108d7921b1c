// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

// Tests and intervals for ratios of times of independent processes. Why these: docs/method.md.
namespace ncclprobe::analysis {

inline constexpr double k_confidence = 0.95; // of each interval alone

struct Interval {
  double low = 0;
  double high = 0;
};

// A t-test on the logarithms of two samples: do their geometric means differ?
struct RatioTest {
  double ratio = 1;  // geometric mean of `over` / geometric mean of `under`
  Interval interval; // of the ratio, at the confidence asked for
  double p = 1; // two-sided p-value: the probability of a ratio at least this far from 1 if there
                // were no difference
  double degrees_of_freedom = 0;
  double log_standard_error = 0;
};

// How the logarithms of one side's values scatter.
struct LogScatter {
  double variance = 0;
  double degrees_of_freedom = 0; // of that variance
};
// Nothing for fewer than two values, or if a value is not above zero.
std::optional<LogScatter> log_scatter(const std::vector<double>& values);
// Of values that scatter alike around two means.
LogScatter pooled(const LogScatter& a, const LogScatter& b);

// The values of one side. Their scatter may be estimated from more values than these.
struct RatioSide {
  std::size_t count = 0;
  LogScatter scatter;
};
// Welch's test of a ratio of geometric means, with a separate scatter for each side. Neither side's
// standard error is taken to be below 1e-4.
RatioTest ratio_test(double ratio, const RatioSide& over, const RatioSide& under,
                     double confidence);
// Student's test, with the same scatter for both sides.
RatioTest ratio_test(double ratio, std::size_t over, std::size_t under, const LogScatter& of_both,
                     double confidence);

// Welch's test with the samples' own scatter. Nothing if one of them has no scatter (log_scatter).
std::optional<RatioTest> welch_ratio(const std::vector<double>& over,
                                     const std::vector<double>& under, double confidence);

// A figure with one value per process.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval; // Student's interval of the mean, from two processes on
  std::size_t processes = 0;
};
// The interval, unless it is from two processes: with one degree of freedom it is too wide to be
// useful.
const Interval* telling(const Estimate& estimate);
// The mean of at least one value.
Estimate mean_estimate(const std::vector<double>& values, double confidence);
// The geometric mean of at least one value, all above zero; its interval comes from the mean of
// logarithms. No standard error is taken to be below 1e-4.
Estimate ratio_estimate(const std::vector<double>& ratios, double confidence);

// Half the width of an interval of that confidence, in standard errors.
double student_quantile(double degrees_of_freedom, double confidence);

// For ratios of two times of each process: does their geometric mean differ from 1? Student's
// t-test on the logarithms; otherwise as welch_ratio.
std::optional<RatioTest> paired_ratio(const std::vector<double>& ratios, double confidence);
// The same for so many ratios, whose scatter was estimated from others too.
RatioTest paired_ratio(double ratio, std::size_t count, const LogScatter& scatter,
                       double confidence);

// One-sided p-value: the probability of a ratio at least this far above `bound` if the true one
// were not above it.
double p_above(const RatioTest& test, double bound);

// The smallest ratio above 1 that would have had p < alpha with the scatter in `test`.
double detectable_ratio(const RatioTest& test, double alpha);

// The design of a test that is still to be made.
struct TestPlan {
  enum class Sides { one, two } sides = Sides::two; // one: ratios of pairs
  double alpha = 0.01; // two-sided; a difference counts from this p-value on
  double missed = 0.1; // probability of not deciding, on either side of the question
  double ratio = 1.05; // the difference to find, or to exclude
};
// The fewest values on each side with which a test like `test`, of about `values` on each side,
// most probably finds a difference of plan.ratio, and otherwise excludes it. The scatter that
// `test` saw may be too small by chance: the upper limit of its variance counts (chi-squared, 80%).
// Nothing if more than `most` are needed.
std::optional<int> values_to_decide(const RatioTest& test, double values, const TestPlan& plan,
                                    int most);

// Interval of the median from order statistics, without any assumption about the distribution: the
// k-th smallest to the k-th largest value, with at least the requested confidence (ten values: the
// second to the ninth, 97.9%). Nothing for too few values: 95% needs six.
std::optional<Interval> median_interval(std::vector<double> values, double confidence);

// Holm's step-down adjustment: if results below alpha are rejected, the probability of even one
// false rejection is at most alpha, however the tests depend on each other. Keeps the order.
std::vector<double> holm_adjusted(const std::vector<double>& p_values);

} // namespace ncclprobe::analysis
