// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/transfer_costs.h"
#include "support/catch.h"

#include <cmath>

using namespace ncclprobe;
using namespace ncclprobe::analysis::cost_model;
using model::Collective;

namespace {

double ring_ns(int ranks, std::uint64_t bytes) {
  const double n = ranks;
  return 5000 + 2 * (n - 1) * 1000 + 2 * (n - 1) / n * static_cast<double>(bytes) / 100;
}

std::vector<Point> exact_points(const std::vector<int>& ranks) {
  std::vector<Point> points;
  for (int n : ranks)
    for (std::uint64_t bytes = 1 << 16; bytes <= 1 << 28; bytes *= 8)
      points.push_back({.ranks = n, .bytes = bytes, .time_ns = ring_ns(n, bytes)});
  return points;
}

constexpr std::uint64_t k_bytes = 1 << 20;

} // namespace

TEST_CASE("Each number of ranks is left out in turn") {
  std::vector<Point> points = exact_points({2, 4, 8});

  const TransferCosts exact(points, 64);
  for (Point& point : points)
    if (point.ranks == 8)
      point.time_ns *= 1.1;
  const TransferCosts off(points, 64);

  const RankErrors& none = exact.rank_errors().at(Collective::all_reduce);
  CHECK(none.left_out == std::vector{2, 4, 8});
  CHECK(none.rms() == Approx(0).margin(1e-9));
  CHECK(exact.of({Collective::all_reduce, 32, 32, 1, k_bytes}, {})->ns ==
        Approx(ring_ns(32, k_bytes)));
  const RankErrors& some = off.rank_errors().at(Collective::all_reduce);
  // The largest, by those below it: 10% too little of all its sizes.
  CHECK(some.errors.back().relative == Approx(1 / 1.1 - 1));
  CHECK(off.of({Collective::all_reduce, 32, 32, 1, k_bytes}, {})->half_width >
        off.of({Collective::all_reduce, 8, 8, 1, k_bytes}, {})->half_width);
}

TEST_CASE("What lacks a second size is said as it is") {
  std::vector<Point> points = exact_points({2, 4});
  points.push_back(
      {.collective = Collective::all_to_all, .ranks = 8, .bytes = k_bytes, .time_ns = 9000});
  const TransferCosts costs(points, 64);

  auto single = costs.of({Collective::all_to_all, 8, 8, 1, k_bytes}, {});
  auto none = costs.of({Collective::send_recv, 2, 2, 1, k_bytes}, {});

  REQUIRE_FALSE(single.has_value());
  CHECK_THAT(single.error().text(), ContainsSubstring("all_to_all was measured on 8 ranks, but"));
  REQUIRE_FALSE(none.has_value());
  CHECK_THAT(none.error().text(), ContainsSubstring("no send_recv on two ranks or more"));
}

TEST_CASE("Errors grow with the doublings beyond what was measured") {
  const RankErrors errors{{2, 4, 8}, {{1, 0.02}, {1, -0.02}, {1, 0.02}}, {2, 4, 8}};

  CHECK(*errors.half_width(16, k_bytes) == Approx(*errors.half_width(3, k_bytes)));
  CHECK(*errors.half_width(128, k_bytes) == Approx(2 * *errors.half_width(16, k_bytes)));
  CHECK_FALSE(RankErrors{{}, {}, {8}}.half_width(16, k_bytes).has_value());
}

TEST_CASE("Errors count for messages that are bound by latency as much") {
  const RankErrors errors{{2, 4}, {{1 << 10, 0.3}, {1 << 20, 0.01}, {1 << 21, 0.01}}, {2, 4}};

  CHECK(*errors.half_width(8, std::uint64_t{8} << 21) < 0.05);
  CHECK(*errors.half_width(8, 8 << 10) > 0.3);
  CHECK(*errors.half_width(8192, std::uint64_t{8} << 20) > 0.3);
}

TEST_CASE("With one number of ranks measured no interval is told for another") {
  const TransferCosts costs(exact_points({8}), 64);

  CHECK(costs.of({Collective::all_reduce, 8, 8, 1, k_bytes}, {})->half_width.has_value());
  CHECK_FALSE(costs.of({Collective::all_reduce, 16, 16, 1, k_bytes}, {})->half_width.has_value());
}

TEST_CASE("What was not measured, or lies between nodes, is asked for") {
  const TransferCosts costs(exact_points({2, 4, 8}), 8);

  auto gather = costs.of({Collective::all_gather, 8, 8, 1, k_bytes}, {});
  auto beyond = costs.of({Collective::all_reduce, 16, 8, 1, k_bytes}, {});

  REQUIRE_FALSE(gather.has_value());
  CHECK_THAT(gather.error().text(), ContainsSubstring("--collectives all_gather"));
  REQUIRE_FALSE(beyond.has_value());
  CHECK_THAT(beyond.error().text(), ContainsSubstring("--inter-node"));
}

TEST_CASE("Groups that share the wires between nodes each have a part of them") {
  const TransferCosts costs(exact_points({2, 4, 8}), 8);
  const InterNode wires{10, 1000};
  const std::uint64_t bytes = 1 << 28;

  const double alone_ns = costs.of({Collective::all_reduce, 4, 1, 1, bytes}, wires)->ns;
  const double shared_ns = costs.of({Collective::all_reduce, 4, 1, 8, bytes}, wires)->ns;

  const double between_ns = 1.5 * static_cast<double>(bytes) / 10;
  CHECK(shared_ns - alone_ns == Approx(7 * between_ns));
}
