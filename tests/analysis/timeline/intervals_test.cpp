// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/intervals.h"
#include "support/catch.h"

#include <map>
#include <random>
#include <vector>

using namespace ncclprobe::analysis::timeline;

TEST_CASE("Spans that overlap or touch are one") {
  CHECK(unite({{5, 9}, {1, 3}, {3, 4}, {8, 12}, {20, 20}, {30, 25}}) == Spans{{1, 4}, {5, 12}});
  CHECK(unite({}).empty());
  CHECK(unite({{1, 10}, {2, 3}}) == Spans{{1, 10}});
  CHECK(length({{1, 4}, {5, 12}}) == 10);
}

TEST_CASE("Sets of spans are intersected and subtracted") {
  Spans a{{0, 10}, {20, 30}}, b{{5, 22}, {25, 26}, {28, 40}};
  CHECK(intersect(a, b) == Spans{{5, 10}, {20, 22}, {25, 26}, {28, 30}});
  CHECK(shared_length(a, b) == 10);
  CHECK(subtract(a, b) == Spans{{0, 5}, {22, 25}, {26, 28}});
  CHECK(subtract(b, a) == Spans{{10, 20}, {30, 40}});
  CHECK(subtract(a, {}) == a);
  CHECK(subtract({}, a).empty());
  CHECK(intersect(a, {}).empty());
}

TEST_CASE("A meter tells how much of each span lies in a set") {
  Spans set{{10, 20}, {30, 40}};
  CoverMeter meter(set);
  CHECK(meter.covered({0, 5}) == 0);
  CHECK(meter.covered({5, 35}) == 15);
  CHECK(meter.covered({5, 12}) == 2); // ends earlier than the one before
  CHECK(meter.covered({20, 30}) == 0);
  CHECK(meter.covered({39, 100}) == 1);
  CHECK(meter.covered({100, 200}) == 0);
}

TEST_CASE("Windows are cut where sets begin and end") {
  Spans windows{{0, 10}, {10, 20}, {20, 20}, {30, 40}};
  Spans a{{5, 15}, {35, 50}}, b{{8, 9}};
  std::vector<std::vector<std::int64_t>> pieces;
  cut(windows, {&a, &b}, [&](std::size_t window, unsigned sets, std::int64_t length_ns) {
    pieces.push_back({static_cast<std::int64_t>(window), sets, length_ns});
  });
  CHECK(
      pieces ==
      std::vector<std::vector<std::int64_t>>{
          {0, 0, 5}, {0, 1, 3}, {0, 3, 1}, {0, 1, 1}, {1, 1, 5}, {1, 0, 5}, {3, 0, 5}, {3, 1, 5}});
}

// Everything against counting moment by moment.
TEST_CASE("Operations on random sets agree with counting every moment") {
  constexpr std::int64_t k_end = 300;
  std::mt19937 random(3);
  auto any = [&](std::uint32_t below) { return static_cast<std::int64_t>(random() % below); };
  for (int round = 0; round < 300; ++round) {
    auto make = [&] {
      Spans spans;
      for (std::int64_t i = any(12); i > 0; --i) {
        std::int64_t begin = any(k_end);
        spans.push_back({begin, std::min(k_end, begin + any(40))});
      }
      return spans;
    };
    auto marks = [](const Spans& spans) {
      std::vector<bool> marked(k_end);
      for (const Span& span : spans)
        for (std::int64_t t = span.begin; t < span.end; ++t)
          marked[static_cast<std::size_t>(t)] = true;
      return marked;
    };
    Spans raw_a = make(), raw_b = make();
    Spans a = unite(raw_a), b = unite(raw_b);
    auto in_a = marks(raw_a), in_b = marks(raw_b);
    REQUIRE(marks(a) == in_a);
    std::vector<bool> both(k_end), only_a(k_end);
    std::map<unsigned, std::int64_t> counted, told;
    for (std::size_t t = 0; t < k_end; ++t) {
      both[t] = in_a[t] && in_b[t];
      only_a[t] = in_a[t] && !in_b[t];
      ++counted[(in_a[t] ? 1u : 0u) | (in_b[t] ? 2u : 0u)];
    }
    REQUIRE(marks(intersect(a, b)) == both);
    REQUIRE(marks(subtract(a, b)) == only_a);
    REQUIRE(shared_length(a, b) == length(intersect(a, b)));
    REQUIRE(length(a) == shared_length(a, b) + length(subtract(a, b)));
    std::int64_t middle = any(k_end);
    cut({{0, middle}, {middle, k_end}}, {&a, &b},
        [&](std::size_t, unsigned sets, std::int64_t length_ns) { told[sets] += length_ns; });
    REQUIRE(told == counted);
    std::int64_t metered = 0;
    CoverMeter meter(b);
    for (const Span& span : a)
      metered += meter.covered(span);
    REQUIRE(metered == shared_length(a, b));
  }
}
