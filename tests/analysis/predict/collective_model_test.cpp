// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/collective_model.h"
#include "support/catch.h"

#include <cmath>

using namespace ncclprobe;
using namespace ncclprobe::analysis::cost_model;
using model::Collective;

namespace {

constexpr std::uint64_t k_kib = 1024, k_mib = 1024 * k_kib;

// A ring as NCCL has it: LL to 64K with little latency, Simple above with a high rate.
Point ring_point(int ranks, std::uint64_t bytes) {
  const bool ll = bytes <= 64 * k_kib;
  const double n = ranks, m = static_cast<double>(bytes);
  const double alpha_ns = ll ? 1000 : 3000, beta = ll ? 0.05 : 0.005;
  return {.collective = Collective::all_reduce,
          .ranks = ranks,
          .bytes = bytes,
          .time_ns = 5000 + 2 * (n - 1) * alpha_ns + 2 * (n - 1) / n * m * beta,
          .algorithm = "RING",
          .protocol = ll ? "LL" : "SIMPLE"};
}

std::vector<Point> ring_points(const std::vector<int>& ranks) {
  std::vector<Point> points;
  for (int n : ranks)
    for (std::uint64_t bytes = 4 * k_kib; bytes <= 256 * k_mib; bytes *= 4)
      points.push_back(ring_point(n, bytes));
  return points;
}

} // namespace

TEST_CASE("A collective's model changes where NCCL was seen to change its protocol") {
  auto models = collective_models(ring_points({4}));

  REQUIRE(models.size() == 1);
  REQUIRE(models[0].pieces.size() == 2);
  const Piece &low = models[0].pieces[0], &high = models[0].pieces[1];
  CHECK(low.protocol == "LL");
  CHECK(low.last_bytes == 64 * k_kib);
  CHECK(low.alpha_ns() == Approx(5000 + 6 * 1000));
  CHECK(low.beta_ns_per_byte() == Approx(1.5 * 0.05));
  CHECK(high.begin == Piece::Begin::observed);
  CHECK(high.alpha_ns() == Approx(5000 + 6 * 3000));
  CHECK(high.beta_ns_per_byte() == Approx(1.5 * 0.005));
  CHECK(left_out(models)->largest == Approx(0).margin(1e-9));
  CHECK(left_out(models)->sizes == 3 + 6);
}

TEST_CASE("Where one line does not describe the times, two do") {
  auto points = ring_points({4});
  for (Point& point : points)
    point.algorithm = point.protocol = "";

  auto models = collective_models(points);

  REQUIRE(models[0].pieces.size() == 2);
  CHECK(models[0].pieces[1].begin == Piece::Begin::fitted);
  CHECK(models[0].pieces[1].first_bytes == 256 * k_kib);
  CHECK(left_out(models)->largest < 0.01);
}

TEST_CASE("A left out size is predicted by the others of its piece") {
  std::vector<Point> points = ring_points({4});
  std::erase_if(points, [](const Point& point) { return point.bytes > 64 * k_kib; });
  points[1].time_ns *= 1.2; // the line through the other two is the true one

  auto models = collective_models(points);

  REQUIRE(models.size() == 1);
  REQUIRE(models[0].left_out_errors.size() == 3);
  CHECK(models[0].left_out_errors[1] == Approx(1 - 1 / 1.2));
}

TEST_CASE("Points of which no way is known join those that lie around them") {
  std::vector<Point> points = ring_points({4}), mixed;
  for (const Point& point : points) {
    mixed.push_back(point);
    mixed.push_back(ring_point(4, point.bytes + point.bytes / 2));
    mixed.back().algorithm = mixed.back().protocol = "";
  }

  auto models = collective_models(mixed);

  REQUIRE(models.size() == 1);
  REQUIRE(models[0].pieces.size() == 2);
  CHECK(models[0].points == mixed.size());
  CHECK(models[0].pieces[0].protocol == "LL");
  CHECK(models[0].pieces[0].last_bytes == 96 * k_kib);
  CHECK(models[0].pieces[1].first_bytes == 256 * k_kib);
  CHECK(models[0].pieces[1].last_bytes == 384 * k_mib);
}

TEST_CASE("Of two ways that are alike near, the nearer size's is taken") {
  auto known = ring_points({4});
  known.push_back(ring_point(4, 100 * k_kib));
  known.back().algorithm = "";
  known.push_back(ring_point(2, 100 * k_kib));
  known.back().algorithm = "";

  auto points = with_nearest_algorithms(known);

  CHECK(points[points.size() - 2].protocol == "LL"); // 64K is nearer than 256K
  CHECK(points.back().algorithm.empty());            // nothing is known on 2 ranks
}

TEST_CASE("A single size makes no model") {
  CHECK(collective_models({ring_point(2, k_mib)}).empty());
  CHECK_FALSE(left_out({}).has_value());
}

TEST_CASE("From several numbers of ranks follows any other") {
  auto model = RankModel::fit(ring_points({2, 4, 8}), Collective::all_reduce, 64);

  REQUIRE(model.has_value());
  CHECK(model->most_ranks() == 8);
  for (int ranks : {3, 16, 64})
    for (std::uint64_t bytes : {16 * k_kib, 25 * k_mib}) {
      auto time = model->at(ranks, bytes, {});
      REQUIRE(time.has_value());
      CHECK(time->ns == Approx(ring_point(ranks, bytes).time_ns));
      CHECK(time->interval_ns.has_value());
    }
}

TEST_CASE("One size on more ranks takes nothing away from the sizes on fewer") {
  std::vector<Point> points = ring_points({4});
  points.push_back(ring_point(8, 4 * k_mib));

  auto model = RankModel::fit(points, Collective::all_reduce, 64);

  REQUIRE(model.has_value());
  CHECK(model->most_ranks() == 8);
  // All of the large sizes: 3000 a hop, and what does not grow with them.
  CHECK(model->at(16, 64 * k_mib, {})->ns == Approx(ring_point(16, 64 * k_mib).time_ns));
}

TEST_CASE("Beyond a node the wires between nodes must be told of") {
  auto model = RankModel::fit(ring_points({2, 4, 8}), Collective::all_reduce, 8);
  REQUIRE(model.has_value());
  const std::uint64_t bytes = 64 * k_mib;

  CHECK_FALSE(model->at(16, bytes, {}).has_value());
  // Faster than the links inside a node: only the latency of the two hops between nodes counts.
  auto fast = model->at(16, bytes, InterNode{1000, 5000});
  CHECK(fast->ns == Approx(ring_point(16, bytes).time_ns + 2 * 5000));
  // Slower: the bytes take as long as they do between nodes.
  auto slow = model->at(16, bytes, InterNode{50, 5000});
  const double share = 2 * 15.0 / 16 * static_cast<double>(bytes);
  CHECK(slow->ns == Approx(ring_point(16, bytes).time_ns + 2 * 5000 + share / 50 - share * 0.005));
}

TEST_CASE("With one number of ranks measured, the hops have all of the latency") {
  auto model = RankModel::fit(ring_points({8}), Collective::all_reduce, 64);

  REQUIRE(model.has_value());
  CHECK(model->at(8, 16 * k_kib, {})->ns == Approx(ring_point(8, 16 * k_kib).time_ns));
  // 5000 + 14 x 1000 over 14 hops
  CHECK(model->at(16, 16 * k_kib, {})->ns ==
        Approx(30 * 19000.0 / 14 + 2 * 15.0 / 16 * 16 * k_kib * 0.05));
}

TEST_CASE("Shapes of the collectives") {
  auto ring = shape_of(Collective::all_reduce, false, 8, 8);
  CHECK(ring.hops == 14);
  CHECK(ring.share == Approx(1.75));
  CHECK(ring.node_hops == 0);
  auto tree = shape_of(Collective::all_reduce, true, 16, 4);
  CHECK(tree.hops == 8);
  CHECK(tree.share == 2);
  CHECK(tree.node_hops == 4);
  auto gather = shape_of(Collective::all_gather, false, 8, 4);
  CHECK(gather.hops == 7);
  CHECK(gather.node_hops == 1);
  CHECK(gather.node_share == Approx(7.0 / 8));
}
