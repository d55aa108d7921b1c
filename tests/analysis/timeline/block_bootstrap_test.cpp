// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/block_bootstrap.h"
#include "support/catch.h"

#include <set>

using namespace ncclprobe::analysis::timeline;

namespace {

std::vector<InBlock> counting(std::uint32_t blocks, std::uint32_t in_each) {
  std::vector<InBlock> out;
  for (std::uint32_t block = 0; block < blocks; ++block)
    for (std::uint32_t i = 0; i < in_each; ++i)
      out.push_back({static_cast<double>(block * in_each + i), block});
  return out;
}

const DrawnFigure k_median = [](const DrawnValues& drawn) { return drawn.quantile(0.5); };

} // namespace

TEST_CASE("Values count as often as their block was drawn") {
  const std::vector<InBlock> values{{1, 0}, {2, 1}, {3, 2}, {10, 0}};
  const std::vector<std::uint32_t> once{1, 1, 1}, first_twice{2, 0, 1};
  CHECK(DrawnValues(values, once).quantile(0.5) == 2);
  CHECK(DrawnValues(values, once).quantile(1) == 10);
  CHECK(DrawnValues(values, first_twice).quantile(0.4) == 1);
  CHECK(DrawnValues(values, first_twice).quantile(0.6) == 3);
  CHECK(DrawnValues(values, once).median_distance(2) == 1);
  CHECK(DrawnValues(values, {2, 0, 0}).median_distance(1) == 0);
  CHECK(DrawnValues(values, {0, 1, 1}).median_distance(10) == 7);
}

TEST_CASE("Intervals are of what chance may draw, the same each time") {
  auto interval = bootstrap(counting(50, 4), {k_median}, 1000)[0];
  REQUIRE(interval);
  CHECK(interval->low > 20);
  CHECK(interval->low < 100);
  CHECK(interval->high > 100);
  CHECK(interval->high < 180);
  auto again = bootstrap(counting(50, 4), {k_median}, 1000)[0];
  CHECK(again->low == interval->low);
  // Fewer of the values, and still of all blocks.
  CHECK(bootstrap(counting(50, 4), {k_median}, 60)[0]->high < 180);
}

TEST_CASE("Values that repeat as often as some are left out are all drawn") {
  // 200 steps of 8 values each, 0 to 7; at most 512 are taken, so one of each 4.
  std::vector<InBlock> values;
  for (std::uint32_t step = 0; step < 200; ++step)
    for (int place = 0; place < 8; ++place)
      values.push_back({static_cast<double>(place), step / 2});
  std::set<double> seen;
  auto place = [&](double probability) {
    return [&seen, probability](const DrawnValues& drawn) -> std::optional<double> {
      seen.insert(drawn.quantile(probability));
      return drawn.quantile(probability);
    };
  };
  auto intervals = bootstrap(values, {place(0), place(0.3), place(0.45), place(1)}, 512);
  CHECK(intervals[0]->low == 0);
  CHECK(intervals[3]->high == 7);
  CHECK(seen.size() > 3); // not 0 and 4 alone
  CHECK(drawn_of_stretch(3, 10, 31) == 30);
}

TEST_CASE("A draw never lacks all values, however few of the blocks have some") {
  std::vector<InBlock> values;
  for (std::uint32_t i = 0; i < 6; ++i)
    values.push_back({1.0 + i, 20 * i});
  auto interval = bootstrap(values, {k_median}, 1000)[0];
  REQUIRE(interval);
  CHECK(interval->low >= 1);
  CHECK(interval->high <= 6);
  values.pop_back();
  CHECK_FALSE(bootstrap(values, {k_median}, 1000)[0]);
}

TEST_CASE("Too few blocks, or a figure that some draws lack, have no interval") {
  CHECK_FALSE(bootstrap(counting(5, 10), {k_median}, 1000)[0]);
  CHECK_FALSE(bootstrap({}, {k_median}, 1000)[0]);
  int calls = 0;
  auto rare = [&](const DrawnValues&) -> std::optional<double> {
    return ++calls == 7 ? std::nullopt : std::optional(1.0);
  };
  CHECK_FALSE(bootstrap(counting(50, 4), {rare}, 1000)[0]);
}
