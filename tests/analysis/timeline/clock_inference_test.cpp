// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace_builder.h"

#include "analysis/timeline/clock_inference.h"
#include "support/catch.h"

#include <cmath>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

constexpr double k_hour_ns = 3.6e12;
constexpr double k_begin_ns = 1e12; // when the job begins, on the second host's clock

// The second host's clock: what it lacks to the first's, and how that grows.
struct Clock {
  double offset_ns = k_hour_ns;
  double rate = 0;
  double bend_ns = 0; // by so much it leaves the line in the middle of the job

  double own(double reference_ns) const {
    double own_ns = k_begin_ns + (reference_ns - k_begin_ns - offset_ns) / (1 + rate);
    double share = (own_ns - k_begin_ns) / 1e9;
    return own_ns - bend_ns * 4 * share * (1 - share);
  }
  double true_offset(double own_ns) const { return offset_ns + rate * (own_ns - k_begin_ns); }
};

// A job of a second: 1,000 all-reduces of at least 8 us, each begun by one of two hosts' two ranks
// up to 300 us late.
TraceSource job(const Clock& clock, double late_ns = 300'000) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<RankBuilder> ranks(4);
  for (std::uint32_t k = 0; k < 1000; ++k) {
    double at = k_begin_ns + k_hour_ns + 1e6 * k;
    std::array<double, 4> starts{};
    double last = 0;
    for (double& start : starts)
      last = std::max(last, start = at + late_ns * share(random));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      double end = last + 8'000 + 4'000 * share(random);
      auto on_host = [&](double ns) { return std::llround(rank < 2 ? ns : clock.own(ns)); };
      ranks[rank].communicate({on_host(starts[rank]), on_host(end)},
                              ranks[rank].operation({0, 0, k}));
    }
  }
  TraceSource source = source_of(ranks);
  source.ranks[2].host = source.ranks[3].host = "other";
  return source;
}

} // namespace

TEST_CASE(
    "clocks an hour apart that drift are aligned by what collectives allow, as well as stated") {
  Clock clock;
  clock.rate = GENERATE(0.0, 20e-6, -50e-6);
  TraceSource source = job(clock);

  infer_clocks(source);

  CHECK(source.ranks[2].inferred_from == 1000);
  CHECK(source.ranks[3].clocks.empty()); // its host's are with its first rank
  const Clocks clocks = fit_clocks(source.ranks);
  CHECK(clocks.all_known());
  CHECK(clocks.inferred_hosts == 1);
  const ClockModel& model = clocks.ranks.at(3).host.value();
  CHECK(model.error_ns < 12'000); // the least that a transfer took, and what drift leaves open
  for (double own_ns : {k_begin_ns + 1e6, k_begin_ns + 5e8, k_begin_ns + 9.9e8}) {
    auto own = static_cast<std::uint64_t>(own_ns);
    double found = static_cast<double>(model.to_reference(own) - static_cast<std::int64_t>(own));
    CHECK(std::abs(found - clock.true_offset(own_ns)) <= model.error_at(own));
  }
  CHECK(std::abs(model.rate - clock.rate) < 20e-6);
}

TEST_CASE("a clock that does not keep to a line is known less well, and that is stated") {
  Clock clock;
  clock.bend_ns = 40'000;
  TraceSource source = job(clock);

  infer_clocks(source);

  const ClockModel model = fit_clocks(source.ranks).ranks.at(2).host.value();
  CHECK(model.error_ns > 12'000);
  for (double at : {0.1, 0.5, 0.9}) {
    double reference_ns = k_begin_ns + k_hour_ns + at * 1e9;
    auto own = static_cast<std::uint64_t>(clock.own(reference_ns));
    CHECK(std::abs(static_cast<double>(model.to_reference(own)) - reference_ns) <=
          model.error_at(own));
  }
}

TEST_CASE("hosts that share no collective, and clocks that were compared, are left as they are") {
  TraceSource apart = job({});
  auto load = apart.load;
  apart.load = [load](int rank, Pass pass) {
    auto trace = load(rank, pass);
    for (trace::OperationRow& row : trace->operations)
      row.batch = rank < 2 ? 0 : 1;
    return trace;
  };
  infer_clocks(apart);
  CHECK_FALSE(fit_clocks(apart.ranks).all_known());
  CHECK(apart.ranks[2].inferred_from == 0);

  TraceSource compared = job({});
  compared.ranks[2].clocks.push_back({1, 2, 3, 4, trace::ClockKind::host});
  compared.load = [](int, Pass) -> base::Result<RankTrace> {
    return base::fail(base::Errc::failed, "nobody reads it");
  };
  infer_clocks(compared);
  CHECK(compared.ranks[2].clocks.size() == 1);
}

TEST_CASE("what lines are possible is cut off by limits, and widened where they contradict") {
  OffsetPolygon polygon;
  polygon.allow({1000, 50}, {1000, 150});
  CHECK(polygon.readings().size() == 1);
  CHECK(polygon.readings().front().offset_ns == 100);
  CHECK(polygon.readings().front().error_ns == 51); // rounded up

  polygon.allow({2000, 120}, {2000, 400});
  CHECK(polygon.widened_ns() == 0);
  CHECK(polygon.readings().size() == 2);
  CHECK(polygon.readings().back().offset_ns == 135);

  polygon.allow({3000, 250}, {3000, 400}); // 100 more than it can have drifted to
  CHECK(polygon.widened_ns() == Approx(100).margin(1));
  CHECK(polygon.readings().back().error_ns >= 100);
}
