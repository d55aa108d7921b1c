// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/loggp.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::cost_model;

namespace {

// L = 9000, g = 4000, G = 0.01 with LL to 64 KiB; 21000, 12000, 0.004 with Simple.
std::vector<Point> points(bool single) {
  std::vector<Point> all;
  for (std::uint64_t bytes = 1024; bytes <= 16 << 20; bytes *= 4) {
    const bool ll = bytes <= 64 * 1024;
    const double fixed_ns = single ? (ll ? 9000 : 21000) : (ll ? 4000 : 12000);
    all.push_back({.ranks = 8,
                   .bytes = bytes,
                   .time_ns = fixed_ns + static_cast<double>(bytes - 1) * (ll ? 0.01 : 0.004),
                   .algorithm = "RING",
                   .protocol = ll ? "LL" : "SIMPLE"});
  }
  return all;
}

} // namespace

TEST_CASE("LogGP's parameters are found where the data carries them") {
  auto models = loggp_models(points(false), points(true));

  REQUIRE(models.size() == 2);
  CHECK(models[0].protocol == "LL");
  CHECK(models[0].last_bytes == 64 * 1024);
  CHECK(models[0].latency_ns() == Approx(9000));
  CHECK(models[0].gap_ns() == Approx(4000));
  CHECK(models[0].gap_per_byte_ns() == Approx(0.01));
  CHECK(models[1].latency_ns() == Approx(21000));
  CHECK(models[1].gap_ns() == Approx(12000));
  CHECK(models[1].gap_per_byte_ns() == Approx(0.004));
  REQUIRE(models[1].fit.intervals[0].has_value());
  CHECK(models[1].fit.intervals[0]->low == Approx(21000));
  for (double residual : models[0].fit.residuals)
    CHECK(residual == Approx(0).margin(1e-9));
}

TEST_CASE("What scatters has intervals that hold the truth") {
  auto batches = points(false), single = points(true);
  double sign = 1;
  for (auto* all : {&batches, &single})
    for (Point& point : *all)
      point.time_ns *= 1 + 0.01 * (sign = -sign);

  auto models = loggp_models(batches, single);

  REQUIRE(models.size() == 2);
  const auto& interval = *models[1].fit.intervals[0];
  CHECK(interval.low < 21000);
  CHECK(interval.high > 21000);
  CHECK(interval.high - interval.low > 100);
}

TEST_CASE("The host's calls are the overhead, and may set the pace") {
  auto batches = points(false), single = points(true);
  for (Point& point : batches)
    point.launch_ns = point.time_ns; // the queue is full
  for (Point& point : single)
    point.launch_ns = 3900;

  auto models = loggp_models(batches, single);
  auto unknown = loggp_models(points(false), points(true));

  REQUIRE(models.size() == 2);
  CHECK(*models[0].overhead_ns == Approx(3900));
  CHECK(models[0].is_bound_by_host() == true); // 3900 of 4000
  CHECK(models[1].is_bound_by_host() == false);
  CHECK_FALSE(unknown[0].overhead_ns.has_value());
  CHECK_FALSE(unknown[0].is_bound_by_host().has_value());
}

TEST_CASE("One mode, one size or another number of ranks carries no LogGP") {
  auto batches = points(false), single = points(true);
  auto one = single, others = single;
  one.resize(1);
  for (Point& point : others)
    point.ranks = 4;

  CHECK(loggp_models(batches, {}).empty());
  CHECK(loggp_models(batches, one).empty());
  CHECK(loggp_models(batches, others).empty());
}
