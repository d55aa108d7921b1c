// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clocks.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::ClockKind;
using trace::ClockRow;

namespace {

ClockRow clock_reading(std::uint64_t at_ns, std::int64_t offset_ns, std::uint64_t error_ns,
                       ClockKind kind = ClockKind::host) {
  return {at_ns, offset_ns, error_ns, 2 * error_ns, kind};
}

} // namespace

TEST_CASE("Ranks of one host share a clock, others need readings") {
  std::vector<RankHead> heads{
      {0, "a", {clock_reading(10, 30, 50)}, {}}, // compared with a rank of its own host
      {1, "a", {clock_reading(10, 90, 50)}, {}},
      {2, "b", {clock_reading(1000, 7000, 200)}, {}},
      {3, "b", {}, {}},
      {4, "c", {clock_reading(5, 1, 1, ClockKind::globaltimer)}, {}}};
  Clocks clocks = fit_clocks(heads);
  CHECK(clocks.hosts == 3);
  CHECK(clocks.same_host_readings == 2);
  CHECK(clocks.same_host_contradictions == 1);
  CHECK(clocks.same_host_error_ns == 50);
  CHECK(clocks.ranks.at(1).host->to_reference(123) == 123);
  CHECK(clocks.ranks.at(3).host->to_reference(1000) == 8000);
  CHECK_FALSE(clocks.ranks.at(4).host);
  CHECK(clocks.ranks.at(4).gpu);
  CHECK_FALSE(clocks.ranks.at(0).gpu);
  CHECK_FALSE(clocks.all_known());
  CHECK_FALSE(clocks.uses_collectives());
  CHECK(clocks.pair_error_ns(0, 1, 8000) == 0);
  CHECK(clocks.pair_error_ns(2, 3, 8000) == 0);
  CHECK(clocks.pair_error_ns(0, 2, 8000) == Approx(200));
  CHECK(clocks.worst_host_error_ns() == Approx(200));
}

TEST_CASE("Errors are those of the moment") {
  Clocks clocks = fit_clocks({{0, "a", {}, {}}, {1, "b", {clock_reading(1000, 7000, 200)}, {}}});
  CHECK(clocks.pair_error_ns(0, 1, 8000) == Approx(200));
  CHECK(clocks.pair_error_ns(0, 1, 10'008'000) == Approx(200 + 1000));
  CHECK(clocks.own_error_ns(1, 10'008'000, Clocks::GpusKnown::to_hosts) == Approx(200 + 1000));
  clocks.ranks.at(1).host_use = {1000, 5'001'000};
  CHECK(clocks.worst_host_error_ns() == Approx(200 + 500));
}

TEST_CASE("A clock_reading that contradicts the others is told with its rank, time and distance") {
  std::vector<RankHead> heads{{0, "a", {}, {}}, {1, "b", {}, {}}, {2, "b", {}, {}}};
  for (std::uint64_t i = 0; i < 6; ++i)
    heads[1 + i % 2].clocks.push_back(
        clock_reading(1'000'000'000 * (i + 1), i == 3 ? 90'000 : 0, 100));
  Clocks clocks = fit_clocks(heads);
  REQUIRE(clocks.contradicted.size() == 1);
  CHECK(clocks.contradicted[0].rank == 2);
  CHECK(clocks.contradicted[0].kind == ClockKind::host);
  CHECK(clocks.contradicted[0].at_ns == 4'000'000'000);
  CHECK(clocks.contradicted[0].after_first_ns == 3e9);
  CHECK(clocks.contradicted[0].by_ns == Approx(90'000 - 200));
  CHECK(clocks.worst_host_error_ns() == Approx(100));
  CHECK(clocks.bent.empty());
}

TEST_CASE("GPUs that collectives compare are known better to each other than to their host") {
  const std::uint64_t first = 1'000'000'000, last = 2'000'000'000;
  std::vector<RankHead> heads{{0, "a", {}, {}}, {1, "a", {}, {}}};
  for (RankHead& head : heads) {
    for (std::uint64_t at : {first, last})
      head.clocks.push_back(
          clock_reading(at, -70'000, head.rank == 0 ? 5000 : 9000, ClockKind::globaltimer));
    head.gpu_collectives.reference = 0;
  }
  for (std::uint64_t at : {first, last})
    for (auto side : {OffsetBound::Side::at_least, OffsetBound::Side::at_most})
      heads[1].gpu_collectives.bounds.push_back(
          {at, side == OffsetBound::Side::at_least ? -71'000 : -70'800, 0, side, at});
  heads[1].gpu_collectives.collectives = 2;
  Clocks clocks = fit_clocks(heads);
  for (auto& [rank, clock] : clocks.ranks)
    clock.by_gpu = true;
  CHECK(clocks.uses_collectives());
  CHECK(clocks.gpus_compared);
  CHECK(clocks.ranks.at(1).gpu->to_reference(first) == 1'000'000'000 - 70'900);
  CHECK(clocks.pair_error_ns(0, 1, 1'500'000'000) == Approx(100));
  CHECK(clocks.worst_error_among_gpus_ns() == Approx(100));
  CHECK(clocks.worst_gpu_error_ns() == Approx(5100)); // of rank 0 to the host, of 1 to 0

  heads[1].gpu_collectives.bounds.clear(); // they share none
  clocks = fit_clocks(heads);
  for (auto& [rank, clock] : clocks.ranks)
    clock.by_gpu = true;
  CHECK_FALSE(clocks.worst_error_among_gpus_ns());
  CHECK(clocks.pair_error_ns(0, 1, 1'500'000'000) == Approx(5000 + 9000));
  CHECK(clocks.worst_gpu_error_ns() == Approx(9000));
}

TEST_CASE("Two GPUs are known to each other no worse than to their host") {
  const std::uint64_t first = 1'000'000'000, last = 2'000'000'000;
  std::vector<RankHead> heads{{0, "a", {}, {}}, {1, "a", {}, {}}, {2, "a", {}, {}}};
  for (RankHead& head : heads) {
    for (std::uint64_t at : {first, last})
      head.clocks.push_back(clock_reading(at, 0, 5000, ClockKind::globaltimer));
    head.gpu_collectives.reference = 0;
    if (head.rank > 0) // collectives tell less than readings
      head.gpu_collectives.bounds = {{first, -90'000, 0, OffsetBound::Side::at_least, 0},
                                     {first, 90'000, 0, OffsetBound::Side::at_most, 0}};
    head.gpu_collectives.collectives = head.rank > 0 ? 1 : 0;
  }
  Clocks clocks = fit_clocks(heads);
  for (auto& [rank, clock] : clocks.ranks)
    clock.by_gpu = true;
  CHECK(clocks.pair_error_ns(1, 2, 1'500'000'000) == Approx(10'000));
  CHECK(clocks.pair_error_ns(0, 2, 1'500'000'000) == Approx(10'000));
  CHECK(clocks.worst_error_among_gpus_ns() == Approx(10'000));
}

TEST_CASE("Collectives that no line of the readings allows are not used, and that is told") {
  std::vector<RankHead> heads{{0, "a", {}, {}}, {1, "a", {}, {}}};
  for (RankHead& head : heads) {
    head.clocks.push_back(clock_reading(0, 0, 50, ClockKind::globaltimer));
    head.gpu_collectives.reference = 0;
  }
  heads[1].gpu_collectives.bounds = {{0, 90'000, 0, OffsetBound::Side::at_least, 0}};
  heads[1].gpu_collectives.collectives = 1;
  Clocks clocks = fit_clocks(heads);
  CHECK(clocks.collectives_unused == std::vector<int>{1});
  CHECK(clocks.ranks.at(1).gpu->collectives == 0);
  CHECK(clocks.ranks.at(1).gpu->error_at(0) == Approx(50));
  CHECK_FALSE(clocks.uses_collectives());
}
