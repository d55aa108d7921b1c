// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/timeline.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

// Two ranks, `steps` steps of 1000 ns: computation of 400 ns, then an all-reduce that ends 900 ns
// after the step began, with 100 ns hidden. Rank 1 computes 200 ns longer.
std::vector<RankBuilder> two_ranks(std::uint32_t steps) {
  std::vector<RankBuilder> ranks(2);
  for (int rank = 0; rank < 2; ++rank)
    for (std::uint32_t i = 0; i < steps; ++i) {
      RankBuilder& trace = ranks[static_cast<std::size_t>(rank)];
      std::int64_t at = 10'000 + 1000 * static_cast<std::int64_t>(i);
      std::int64_t late = 200 * rank;
      trace.compute({at, at + 400 + late},
                    trace.operation({0, 0, i}, 0, trace::OperationKind::compute, at - 500));
      trace.communicate({at + 300 + late, at + 900}, trace.operation({0, 0, i}, 1));
    }
  return ranks;
}

} // namespace

TEST_CASE("Two ranks, one of them late: every figure by hand") {
  Timeline out = analysed(source_of(two_ranks(20)), {.threads = 2, .keep_steps = true});
  REQUIRE(out.ranks.size() == 2);
  const RankTimeline& early = out.ranks[0];
  const RankTimeline& late = out.ranks[1];
  CHECK(only(early.cells).steps == 20);
  CHECK(early.kernels == 40);
  CHECK(early.communications == 20);
  CHECK(early.matched == 20);
  // Rank 0: communication from 300 to 900, computation until 400, rank 1 comes at 500. The last of
  // the 20 steps ends with the communication.
  TimeParts first{.length_ns = 1000,
                  .communication_ns = 600,
                  .hidden_ns = 100,
                  .compute_ns = 400,
                  .exposed_wait_ns = 100,
                  .exposed_transfer_ns = 400,
                  .memory_ns = 0,
                  .helper_ns = 0,
                  .idle_ns = 100};
  REQUIRE(early.steps.size() == 20);
  CHECK(early.steps[0].parts == first);
  CHECK(early.steps[0].start_ns == 10'000);
  TimeParts last = first;
  last.length_ns = 900;
  last.idle_ns = 0;
  CHECK(early.steps[19].parts == last);
  CHECK(only(early.cells).parts.exposed_wait_ns == 2000);
  CHECK(only(early.cells).wait_error_ns == 0);
  // Rank 1: communication from 500 on, computation until 600; it waits for nobody.
  CHECK(only(late.cells).parts.communication_ns == 20 * 400);
  CHECK(only(late.cells).parts.hidden_ns == 20 * 100);
  CHECK(only(late.cells).parts.exposed_wait_ns == 0);
  CHECK(only(late.cells).parts.exposed_transfer_ns == 20 * 300);
  REQUIRE(only(early.streams).size() == 1);
  CHECK(only(early.streams)[0].hidden_ns == 2000);
  CHECK(early.cells.contains(0));

  CHECK(only(out.stragglers).skew.median->value_ns == 200);
  CHECK(only(out.stragglers).ranks[1].times_last == 20);
  CHECK(only(out.stragglers).ranks[1].delay.value_ns == 200);
  CHECK(only(out.stragglers).ranks[0].lateness->value_ns == -100);
  CHECK(out.physics.violations == 0);
  CHECK(out.physics.worst_margin_ns == 400);
  // Rank 0's computation ends 600 ns before the next one, which is launched 500 ns before it
  // begins; rank 1's ends 400 ns before. All-reduces are launched in time.
  CHECK(only(early.gaps).of(GapCause::launch_late).count == 19);
  CHECK(only(early.gaps).of(GapCause::launch_late).length_ns == 19 * 600);
  CHECK(only(early.gaps).of(GapCause::other).count == 19);
  CHECK(only(early.gaps).of(GapCause::other).length_ns == 19 * 400);
  CHECK(only(late.gaps).of(GapCause::other).length_ns == 19 * (400 + 600));
  CHECK(only(out.gaps).of(GapCause::other).count == 57);
}

TEST_CASE("One host's clock a millisecond off changes nothing but the errors") {
  auto ranks = two_ranks(20);
  for (auto& start : ranks[1].trace.kernels.start_ns)
    start += 1'000'000;
  TraceSource source = source_of(ranks);
  source.ranks[1].host = "other";
  for (std::uint64_t at : {0u, 2'000'000u})
    source.ranks[1].clocks.push_back({at, -1'000'000, 150, 300, trace::ClockKind::host});
  Timeline out = analysed(source);
  CHECK(out.clocks.worst_host_error_ns() == Approx(150));
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 2000);
  CHECK(only(out.ranks[0].cells).wait_error_ns == Approx(20 * 150));
  // Rank 1 came 200 ns after rank 0, which is more than clocks can be wrong by.
  CHECK(only(out.ranks[1].cells).wait_error_ns == 0);
  CHECK_FALSE(only(out.stragglers).skew.median->is_shown());
  CHECK(only(out.stragglers).ranks[1].times_last == 0);
  CHECK(out.physics.violations == 0);

  source.ranks[1].clocks.clear(); // nobody compared the clocks
  out = analysed(source);
  CHECK_FALSE(out.ranks[1].clock_known);
  CHECK(out.ranks[0].matched == 0);
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 0);
  CHECK(only(out.ranks[1].cells).parts.communication_ns == 20 * 400);
  CHECK(only(out.stragglers).skew.collectives == 0);
  CHECK_FALSE(only(out.stragglers).ranks[1].lateness);
}

TEST_CASE("Threads change nothing") {
  std::vector<RankBuilder> ranks;
  std::mt19937 random(2);
  for (int rank = 0; rank < 5; ++rank) {
    ranks.emplace_back();
    for (std::uint32_t i = 0; i < 50; ++i) {
      auto at = static_cast<std::int64_t>(1000 * i + random() % 300);
      ranks.back().compute({at, at + 300},
                           ranks.back().operation({0, 0, i}, 0, trace::OperationKind::compute));
      ranks.back().communicate({at + 100, at + 400}, ranks.back().operation({0, 0, i}, 1));
    }
  }
  Timeline one = analysed(source_of(ranks), {.threads = 1});
  Timeline three = analysed(source_of(ranks), {.threads = 3});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    CHECK(only(one.ranks[rank].cells).parts == only(three.ranks[rank].cells).parts);
    CHECK(only(one.stragglers).ranks[rank].delay.value_ns ==
          only(three.stragglers).ranks[rank].delay.value_ns);
    CHECK(only(one.stragglers).ranks[rank].lateness->value_ns ==
          only(three.stragglers).ranks[rank].lateness->value_ns);
  }
  REQUIRE(one.slowdowns.size() == three.slowdowns.size());
  CHECK(one.slowdowns[0].ratio == three.slowdowns[0].ratio);
}

TEST_CASE("A trace of one rank, of nothing, and without communication") {
  std::vector<RankBuilder> ranks = two_ranks(3);
  Timeline single = analysed(source_of({ranks[0]}));
  CHECK(only(single.ranks[0].cells).parts.exposed_wait_ns == 0);
  CHECK(only(single.ranks[0].cells).parts.exposed_transfer_ns == 3 * 500);
  CHECK(single.ranks[0].matched == 0);

  Timeline nothing = analysed(source_of({RankBuilder{}, RankBuilder{}}));
  CHECK(only(nothing.ranks[0].cells).steps == 0);
  CHECK(only(nothing.stragglers).skew.collectives == 0);
  CHECK(analysed(source_of({})).ranks.empty());

  RankBuilder quiet;
  quiet.compute({0, 10});
  Timeline computed = analysed(source_of({quiet}));
  CHECK(only(computed.ranks[0].cells).parts.compute_ns == 10);
  CHECK(computed.ranks[0].cells.contains(-1));
  CHECK(computed.ranks[0].communications == 0);
}

TEST_CASE("A captured job has NCCL's events alone, on one clock by its readings") {
  std::vector<RankBuilder> ranks(2);
  for (std::uint64_t i = 0; i < 10; ++i) {
    auto at = static_cast<std::int64_t>(1000 * i);
    ranks[0].nccl(i, {at + 100, at + 600});
    ranks[1].nccl(i, {at + 5150, at + 5600}); // its GPU's clock is 5 us ahead
  }
  TraceSource source = source_of(ranks);
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::uint64_t at : {0u, 100'000'000u})
      source.ranks[rank].clocks.push_back(
          {at, rank == 0 ? 0 : -5000, 20, 40, trace::ClockKind::globaltimer});
  Timeline out = analysed(source);
  CHECK(out.ranks[0].from_nccl);
  CHECK(out.ranks[0].matched == 10);
  CHECK(only(out.ranks[0].cells).parts.communication_ns == 5000);
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 500);
  CHECK(out.physics.checked == 10);
  CHECK_FALSE(only(out.stragglers).per_step);
  CHECK(out.choices.begin()->second.operations == 20);
  CHECK(out.choices.begin()->second.length_ns == 10 * (500 + 450));
  CHECK(out.choices.begin()->second.wait_ns == 500);
}

TEST_CASE("Where a rank left no trace nobody knows who waited, and it is named") {
  std::vector<RankBuilder> ranks(2);
  for (std::uint64_t i = 0; i < 10; ++i) {
    auto at = static_cast<std::int64_t>(1000 * i);
    ranks[0].nccl(i, {at + 100, at + 600});
    ranks[1].nccl(i, {at + 150, at + 600});
  }
  for (int rank = 0; rank < 2; ++rank) {
    trace::CommunicatorRow& row = ranks[static_cast<std::size_t>(rank)].trace.communicators[0];
    row.ranks = 4;
    row.rank = 2 * rank;
  }
  TraceSource source = source_of(ranks);
  for (RankHead& head : source.ranks)
    head.clocks = {{0, 0, 5, 10, trace::ClockKind::globaltimer}};
  Timeline out = analysed(source);
  CHECK(out.missing == std::vector<MissingRanks>{{1, 4, {1, 3}}});
  CHECK(out.ranks[0].matched == 0);
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 0);
  CHECK(only(out.stragglers).skew.collectives == 10);
  CHECK(only(out.stragglers).skew.complete == 0);
  CHECK(only(out.stragglers).ranks[1].times_last == 0);

  for (RankBuilder& rank : ranks)
    rank.trace.communicators[0].ranks = 2;
  ranks[1].trace.communicators[0].rank = 1;
  source.load = source_of(ranks).load;
  out = analysed(source);
  CHECK(out.missing.empty());
  CHECK(out.ranks[0].matched == 10);
}

TEST_CASE("Figures of some ranks alone know what the others did") {
  TraceSource source = source_of(two_ranks(20));
  Timeline all = analysed(source);
  Timeline one = analysed(source, {.ranks = {0}});
  REQUIRE(one.ranks.size() == 1);
  CHECK(only(one.ranks[0].cells).parts == only(all.ranks[0].cells).parts);
  CHECK(only(one.stragglers).skew.collectives == 20);
  REQUIRE(only(one.stragglers).ranks.size() == 1);
  CHECK(only(one.stragglers).ranks[0].lateness->value_ns == -100);
  CHECK(only(one.gaps).of(GapCause::other).count == 19);
}

TEST_CASE("Clocks are known less well outside of their readings") {
  auto ranks = two_ranks(20);
  TraceSource source = source_of(ranks);
  source.ranks[1].host = "other";
  source.ranks[1].clocks.push_back({0, 0, 150, 300, trace::ClockKind::host});
  // One reading gives no rate: up to 100 ppm, until rank 1's last moment.
  CHECK(analysed(source).clocks.worst_host_error_ns() == Approx(150 + 29'900 * 1e-4));
}

TEST_CASE("What a source cannot read ends the analysis, with the rank") {
  TraceSource source = source_of(two_ranks(1));
  auto load = source.load;
  source.load = [load](int rank, Pass pass) -> base::Result<RankTrace> {
    if (rank == 1 && pass == Pass::everything)
      return base::fail(base::Errc::protocol, "a damaged chunk");
    return load(rank, pass);
  };
  auto out = analyse(source);
  REQUIRE_FALSE(out);
  CHECK(out.error().message == "rank 1: a damaged chunk");
}
