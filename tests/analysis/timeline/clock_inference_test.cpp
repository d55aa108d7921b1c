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

// The second host's clock: its offset to the first, and the drift.
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

  const std::uint64_t used = source.ranks[2].host_collectives.collectives;
  CHECK(used > 820); // seven of eight
  CHECK(used < 930);
  CHECK(source.ranks[2].host_collectives.bounds.size() < 4000);
  CHECK(source.ranks[3].host_collectives.bounds.empty()); // its host's are with its first rank
  const Clocks clocks = fit_clocks(source.ranks);
  CHECK(clocks.all_known());
  CHECK(clocks.inferred_hosts == 1);
  CHECK(clocks.inferred_from == used);
  CHECK(clocks.uses_collectives());
  const ClockModel& model = clocks.ranks.at(3).host.value();
  CHECK(clocks.worst_host_error_ns() < 12'000); // the least that a transfer took, and drift
  for (double own_ns : {k_begin_ns + 1e6, k_begin_ns + 5e8, k_begin_ns + 9.9e8}) {
    auto own = static_cast<std::uint64_t>(own_ns);
    double found = static_cast<double>(model.to_reference(own) - static_cast<std::int64_t>(own));
    CHECK(std::abs(found - clock.true_offset(own_ns)) <= model.error_at(own));
  }
  CHECK(std::abs(model.mean_rate() - clock.rate) < 20e-6);
}

TEST_CASE("a clock that does not keep to a line is fitted in parts, and that is stated") {
  Clock clock;
  clock.bend_ns = 40'000;
  TraceSource source = job(clock);

  infer_clocks(source);

  const Clocks clocks = fit_clocks(source.ranks);
  const ClockModel& model = *clocks.ranks.at(2).host;
  REQUIRE(clocks.bent.size() == 1);
  CHECK(clocks.bent[0].rank == 2);
  CHECK(clocks.bent[0].pieces > 1);
  CHECK(clocks.bent[0].bend_ns > 0);
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
  CHECK(apart.ranks[2].host_collectives.bounds.empty());

  TraceSource compared = job({});
  compared.ranks[2].clocks.push_back({1, 2, 3, 4, trace::ClockKind::host});
  compared.load = [](int, Pass) -> base::Result<RankTrace> {
    return base::fail(base::Errc::failed, "nobody reads it");
  };
  infer_clocks(compared);
  CHECK(compared.ranks[2].clocks.size() == 1);
}

namespace {

constexpr std::int64_t k_gpu_ahead_ns = 77'000'000;

// A job on one host. Only its GPUs report when 400 all-reduces of 20 us ran, one every 5 ms. Rank 1
// comes first or last in turn. Its GPU's clock gains 15 ppm. `called_ns`: how long before its start
// each is requested.
struct GpuJob {
  std::uint64_t called_ns = 4'000'000;
  std::uint64_t heard_ns = 1'000'000; // after its end
  std::uint64_t reading_error_ns = 60'000;
  std::int64_t wrong_ns = 0; // of rank 1's readings

  std::int64_t gpu_offset_ns(int rank, std::uint64_t host_ns) const {
    return rank * (k_gpu_ahead_ns + static_cast<std::int64_t>(host_ns / 66'667));
  }

  TraceSource source() const {
    std::vector<RankBuilder> ranks(2);
    TraceSource out = source_of(ranks);
    for (int rank = 0; rank < 2; ++rank) {
      RankBuilder& one = ranks[static_cast<std::size_t>(rank)];
      auto gpu = [&](std::uint64_t host_ns) {
        return static_cast<std::int64_t>(host_ns) + gpu_offset_ns(rank, host_ns);
      };
      for (std::uint64_t k = 0; k < 400; ++k) {
        const std::uint64_t all_ns = 1'000'000'000 + 5'000'000 * k;
        const std::uint64_t begin_ns = all_ns - (static_cast<int>(k % 2) == rank ? 500'000 : 0);
        const std::uint64_t end_ns = all_ns + 20'000;
        one.nccl(k, {gpu(begin_ns), gpu(end_ns)});
        one.trace.nccl_operations.back().enqueue_ns = begin_ns - called_ns;
        one.trace.nccl_channels.back().start_ns = begin_ns + heard_ns;
        one.trace.nccl_channels.back().stop_ns = end_ns + heard_ns;
      }
      for (std::uint64_t at_ns : {std::uint64_t{1'000'000'000}, std::uint64_t{3'000'000'000}})
        out.ranks[static_cast<std::size_t>(rank)].clocks.push_back(
            {static_cast<std::uint64_t>(gpu(at_ns)),
             -gpu_offset_ns(rank, at_ns) + rank * wrong_ns + 40'000 * rank, reading_error_ns, 0,
             trace::ClockKind::globaltimer});
    }
    out.load = source_of(ranks).load;
    return out;
  }

  // The largest error of rank 1's clock, and whether all errors are within the stated one.
  double worst_ns(const Clocks& clocks) const {
    double worst = 0;
    const ClockModel& reference = *clocks.ranks.at(0).gpu;
    const ClockModel& model = *clocks.ranks.at(1).gpu;
    for (std::uint64_t host_ns = 1'000'000'000; host_ns <= 3'000'000'000; host_ns += 10'000'000) {
      const auto gpu_ns = static_cast<std::uint64_t>(static_cast<std::int64_t>(host_ns) +
                                                     gpu_offset_ns(1, host_ns));
      const double apart = std::abs(
          static_cast<double>(model.to_reference(gpu_ns) - reference.to_reference(host_ns)));
      CHECK(apart <= model.error_at(gpu_ns) + 2);
      worst = std::max(worst, apart);
    }
    return worst;
  }
};

} // namespace

TEST_CASE("GPUs of one host are known to each other as well as their collectives allow") {
  GpuJob job;
  TraceSource source = job.source();
  CHECK(job.worst_ns(fit_clocks(source.ranks)) > 30'000);

  infer_clocks(source);

  Clocks clocks = fit_clocks(source.ranks);
  CHECK(source.ranks[0].gpu_collectives.reference == 0);
  CHECK(source.ranks[1].gpu_collectives.reference == 0);
  CHECK(source.ranks[1].gpu_collectives.collectives > 300);
  CHECK(clocks.gpus_compared);
  CHECK(job.worst_ns(clocks) < 11'000);
  CHECK(clocks.worst_error_among_gpus_ns().value() < 21'000); // the quickest takes 20 us
  CHECK(clocks.worst_gpu_error_ns() < 2 * 60'000 + 1000);
}

TEST_CASE("Calls and what the host heard say more than readings that cover a while") {
  GpuJob job;
  job.called_ns = 4'000;
  job.heard_ns = 6'000;
  TraceSource source = job.source();

  infer_clocks(source);

  Clocks clocks = fit_clocks(source.ranks);
  CHECK(source.ranks[0].gpu_calls.size() > 2);
  CHECK(clocks.worst_gpu_error_ns() < 10'000); // half of 4 + 6 us, for either
  CHECK(job.worst_ns(clocks) < 10'000);
}

TEST_CASE("Where a GPU's readings and its collectives contradict each other its readings tell") {
  GpuJob job;
  job.wrong_ns = 800'000;
  TraceSource source = job.source();

  infer_clocks(source);

  const Clocks clocks = fit_clocks(source.ranks);
  CHECK(clocks.collectives_unused == std::vector<int>{1});
  CHECK_FALSE(clocks.ranks.at(1).gpu_reference);
}
