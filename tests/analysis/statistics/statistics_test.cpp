// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/statistics/statistics.h"
#include "base/error.h"
#include "support/catch.h"

#include <cmath>

using namespace ncclprobe::analysis;

TEST_CASE("the median is the middle value, or the mean of the two middle ones") {
  CHECK(median({3, 1, 2}) == 2.0);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7}) == 7.0);
}

TEST_CASE("quantiles are of type 7, as NumPy computes them") {
  // numpy.quantile([1, 2, 4, 8, 16], [0.1, 0.25, 0.9])
  std::vector<double> values{16, 8, 4, 2, 1};

  CHECK(quantile(values, 0.1) == Approx(1.4));
  CHECK(quantile(values, 0.25) == Approx(2.0));
  CHECK(quantile(values, 0.9) == Approx(12.8));
  CHECK(quantile(values, 0) == 1.0);
  CHECK(quantile(values, 1) == 16.0);
}

TEST_CASE("a single value has no spread") {
  Summary summary = summarise({5});

  CHECK(summary.count == 1);
  CHECK(summary.median == 5.0);
  CHECK(summary.min == 5.0);
  CHECK(summary.max == 5.0);
  CHECK_FALSE(summary.interquartile_range.has_value());
  CHECK_FALSE(summary.median_absolute_deviation.has_value());
  CHECK_FALSE(summary.range_percent().has_value());
}

TEST_CASE("the spread of several values is given in three ways") {
  Summary summary = summarise({10, 12, 11, 30, 9});

  CHECK(summary.median == 11.0);
  CHECK(*summary.interquartile_range == Approx(2.0));       // 10 to 12
  CHECK(*summary.median_absolute_deviation == Approx(1.0)); // of 1 1 0 19 2
  CHECK(*summary.range_percent() == Approx(100.0 * 21 / 11));
}

TEST_CASE("equal values have a spread of zero, which is not the same as none") {
  Summary summary = summarise({4, 4, 4});

  CHECK(*summary.interquartile_range == 0.0);
  CHECK(*summary.range_percent() == 0.0);
}

TEST_CASE("statistics of nothing, of NaN and beyond the range are refused") {
  CHECK_THROWS_AS(median({}), ncclprobe::base::Exception);
  CHECK_THROWS_AS(summarise({}), ncclprobe::base::Exception);
  CHECK_THROWS_AS(summarise({1, std::nan("")}), ncclprobe::base::Exception);
  CHECK_THROWS_AS(quantile({1, 2}, 1.5), ncclprobe::base::Exception);
}
