// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/slowdown.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

std::vector<Slowdown> slowdowns_in(const RankBuilder& rank) {
  OperationIndex operations(rank.trace.operations);
  Activities all = activities(rank.trace, operations);
  return slowdowns(durations_of(all, operations, busy_sets(all)));
}

} // namespace

TEST_CASE("The same kernel is compared with and without company") {
  RankBuilder rank;
  std::int64_t at = 0;
  for (int i = 0; i < 20; ++i) {
    rank.compute({at, at + 100}); // alone
    at += 200;
    rank.compute({at, at + 150}); // half of it or more beside communication
    rank.communicate({at + 75, at + 175});
    at += 200;
    rank.compute({at, at + 400}); // in between: a little company
    rank.communicate({at + 390, at + 490});
    at += 500;
    rank.communicate({at, at + 80}); // alone
    at += 200;
  }
  auto all = slowdowns_in(rank);
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind.name == k_gemm);
  CHECK_FALSE(all[0].kind.communication);
  CHECK(all[0].overlapped == 20);
  CHECK(all[0].alone == 20);
  REQUIRE(all[0].ratio);
  CHECK(*all[0].ratio == Approx(1.5));
  CHECK(all[0].interval->low < 1.5);
  CHECK(all[0].interval->high > 1.5);
  CHECK(all[0].sum_ns == 20 * 650);
  CHECK(all[1].kind.communication);
  CHECK(all[1].overlapped == 20);
  CHECK(all[1].alone == 20);
  CHECK(*all[1].ratio == Approx(100. / 80));
}

TEST_CASE("Too few kernels of a class have no ratio") {
  RankBuilder rank;
  std::int64_t at = 0;
  for (int i = 0; i < 12; ++i, at += 200) {
    rank.compute({at, at + 100});
    if (i < 9)
      rank.communicate({at, at + 100});
  }
  auto all = slowdowns_in(rank);
  REQUIRE(all.size() == 2);
  CHECK(all[0].overlapped == 9);
  CHECK(all[0].alone == 3);
  CHECK_FALSE(all[0].ratio);
  CHECK_FALSE(all[0].interval);
}

TEST_CASE("Kernels of different operations, and outside of the steps, are not compared") {
  RankBuilder rank;
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < 12; ++i, at += 1000) {
    auto small = rank.operation({0, 0, i}, 0, trace::OperationKind::compute);
    auto large = rank.operation({0, 0, i}, 1, trace::OperationKind::compute);
    rank.compute({at, at + 10}, small);
    rank.compute({at + 100, at + 900}, large);
    rank.communicate({at + 100, at + 900}, large);
    rank.compute({at + 950, at + 960}); // of no step
  }
  for (const Slowdown& slowdown : slowdowns_in(rank)) {
    CHECK(slowdown.alone == 0);
    CHECK(slowdown.kind.operation_index == 1);
    CHECK_FALSE(slowdown.ratio);
  }
}

TEST_CASE("Kernels of one name but another node, grid or number of elements are not compared") {
  RankBuilder rank;
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < 24; ++i, at += 1000) {
    bool large = i % 2 == 0;
    rank.compute({at, at + (large ? 100 : 10)});
    if (large)
      rank.communicate({at, at + 100});
    rank.trace.kernels.grid.resize(rank.trace.kernels.size(), large ? 64 : 8);
  }
  for (const Slowdown& slowdown : slowdowns_in(rank))
    CHECK_FALSE(slowdown.ratio);
  rank.trace.kernels.grid.clear(); // unknown: they are taken for the same
  CHECK(*slowdowns_in(rank)[0].ratio == Approx(10));
  for (std::size_t i = 0; i < rank.trace.kernels.size(); ++i)
    rank.trace.kernels.graph_node.push_back(rank.trace.kernels.duration_ns[i]);
  for (const Slowdown& slowdown : slowdowns_in(rank))
    CHECK_FALSE(slowdown.ratio);
}

TEST_CASE("A kernel that never runs alone is compared with the cell that leaves the rest out") {
  RankBuilder rank;
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < 12; ++i, at += 1000) {
    auto whole = rank.operation({0, 0, i}, 7, trace::OperationKind::compute);
    rank.compute({at, at + 150}, whole);
    rank.communicate({at, at + 200}, rank.operation({0, 0, i}, 8));
  }
  for (std::uint32_t i = 0; i < 12; ++i, at += 1000)
    rank.compute({at, at + 100}, rank.operation({1, 0, i}, 3, trace::OperationKind::compute));
  OperationIndex operations(rank.trace.operations);
  Activities all = activities(rank.trace, operations);
  DurationsByKind durations = durations_of(all, operations, busy_sets(all));
  CHECK_FALSE(slowdowns(durations)[0].ratio);
  auto found = slowdowns(durations, [](const OperationPlace& place) {
    return place == OperationPlace{0, 7} ? std::optional(OperationPlace{1, 3}) : std::nullopt;
  });
  REQUIRE(found.size() == 2);
  const Slowdown& compute = found[found[0].kind.communication ? 1 : 0];
  CHECK(compute.alone == 12);
  CHECK(compute.alone_cell == 1);
  CHECK(*compute.ratio == Approx(1.5));
}

TEST_CASE("Kinds of one kernel in one cell are one row") {
  Slowdown twice{.kind = {.name = 1, .cell = 0, .operation_index = 1},
                 .overlapped = 20,
                 .alone = 30,
                 .alone_cell = 5,
                 .ratio = 2,
                 .log_standard_error = 0.1,
                 .sum_ns = 100,
                 .overlapped_sum_ns = 100};
  Slowdown same = twice;
  same.kind.operation_index = 2;
  same.ratio = 1;
  same.overlapped_sum_ns = 300;
  Slowdown rare{.kind = {.name = 1, .cell = 0, .operation_index = 3}, .overlapped = 2};
  Slowdown other{.kind = {.name = 2, .cell = 0}, .overlapped = 9, .sum_ns = 1e6};
  auto rows = by_kernel({other, twice, same, rare});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == 1); // first what has a ratio
  CHECK(rows[0].kinds == 3);
  CHECK(rows[0].sum.kinds == 2);
  CHECK(rows[0].overlapped == 42);
  CHECK(rows[0].alone_cell == 5);
  CHECK(*rows[0].sum.ratio() == Approx(400. / 350));
  CHECK(rows[0].sum.interval()->low < 400. / 350);
  CHECK_FALSE(rows[1].sum.ratio());
}

TEST_CASE("A ratio carries what the waits before may be wrong by") {
  RankBuilder rank;
  for (std::int64_t i = 0; i < 20; ++i) {
    rank.communicate({1000 * i, 1000 * i + (i % 2 == 0 ? 300 : 200)});
    if (i % 2 == 0)
      rank.compute({1000 * i, 1000 * i + 300});
  }
  OperationIndex operations(rank.trace.operations);
  Activities all = activities(rank.trace, operations);
  for (DeviceActivity& activity : all.all)
    if (activity.kind == Class::communication)
      activity.ready_error_ns = 30;
  SlowdownSum sum = only(sums_of(slowdowns(durations_of(all, operations, busy_sets(all))), true));
  CHECK(*sum.ratio() == Approx(1.5));
  CHECK(sum.ratio_error() == Approx(1.5 * (30. / 300 + 30. / 200)));
  CHECK_FALSE(sum.is_shown());
}

TEST_CASE("All kinds together are weighed by their time beside company") {
  Slowdown twice{.kind = {.name = 1}, .ratio = 2, .overlapped_sum_ns = 100};
  Slowdown same{.kind = {.name = 2}, .ratio = 1, .overlapped_sum_ns = 300};
  Slowdown unknown{.kind = {.name = 3}, .overlapped_sum_ns = 1000};
  Slowdown other{.kind = {.communication = true}, .ratio = 5, .overlapped_sum_ns = 10};
  SlowdownSum sum = only(sums_of({twice, same, unknown, other}, false));
  CHECK(sum.kinds == 2);
  CHECK(*sum.ratio() == Approx(400. / 350));
  CHECK(*only(sums_of({other}, true)).ratio() == Approx(5));
  CHECK_FALSE(only(sums_of({unknown}, false)).ratio());
  same.kind.cell = 4; // another job
  CHECK(*sums_of({twice, same}, false).at(-1).ratio() == Approx(2));
  CHECK(*sums_of({twice, same}, false).at(4).ratio() == Approx(1));
}

TEST_CASE("A wait is no part of a collective's duration") {
  RankBuilder rank;
  for (std::int64_t i = 0; i < 20; ++i) {
    rank.communicate({1000 * i, 1000 * i + 500});
    if (i % 2 == 0)
      rank.compute({1000 * i + 400, 1000 * i + 500});
  }
  OperationIndex operations(rank.trace.operations);
  Activities all = activities(rank.trace, operations);
  for (DeviceActivity& activity : all.all)
    if (activity.kind == Class::communication)
      activity.ready_ns = activity.start_ns + 400;
  auto found = slowdowns(durations_of(all, operations, busy_sets(all)));
  REQUIRE(found.size() == 2);
  const Slowdown& communication = found[found[0].kind.communication ? 0 : 1];
  CHECK(communication.sum_ns == 20 * 100);
  CHECK(*communication.ratio == Approx(1));
  CHECK(communication.alone == 10);
}
