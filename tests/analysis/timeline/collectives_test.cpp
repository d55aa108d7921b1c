// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::OperationKind;

namespace {

std::vector<CollectivePart> parts_in(RankBuilder& rank, const TraceSource& source,
                                     std::optional<ClockModel> gpu = {}) {
  OperationIndex operations(rank.trace.operations);
  NcclTimes times = nccl_times(rank.trace, gpu);
  Activities all = activities_of(rank.trace, operations, times);
  join_nccl(rank.trace, times, 0, all);
  return collective_parts(rank.trace, all, operations, TextTraits(source.texts), source);
}

} // namespace

TEST_CASE("Names tell what cannot end before all have begun") {
  TextTraits traits({"", "all_reduce", "ncclDevKernel_ReduceScatter_Sum", "Broadcast", "Reduce",
                     "ncclDevKernel_SendRecv", "AllToAll"});
  for (std::uint32_t text : {1u, 2u, 6u})
    CHECK(traits.needs_all(text));
  for (std::uint32_t text : {0u, 3u, 4u, 5u, 99u})
    CHECK_FALSE(traits.needs_all(text));
  CHECK(traits.is_collective(3));
  CHECK(traits.is_collective(4));
  CHECK_FALSE(traits.is_collective(5));
}

TEST_CASE("Without NCCL's word a collective is known by cell, batch, iteration and operation") {
  RankBuilder a, b;
  for (RankBuilder* rank : {&a, &b}) {
    auto first = rank->operation({0, 0, 0}, 0), second = rank->operation({0, 0, 0}, 1);
    auto later = rank->operation({0, 0, 1}, 0), next_cell = rank->operation({1, 0, 0}, 0);
    auto warm_up = rank->operation({0, -1, 0}, 0);
    auto sending = rank->operation({0, 0, 0}, 2, OperationKind::send);
    std::int64_t at = rank == &a ? 0 : 3;
    for (auto operation : {warm_up, sending, first, second, later, next_cell})
      rank->communicate({at += 10, at + 5}, operation);
  }
  TraceSource source = source_of({a, b});
  auto of_a = parts_in(a, source), of_b = parts_in(b, source);
  REQUIRE(of_a.size() == 4);
  REQUIRE(of_b.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(of_a[i].key == of_b[i].key);
    CHECK(of_a[i].needs_all);
    CHECK(of_a[i].expected_ranks == 2);
    for (std::size_t k = 0; k < i; ++k)
      CHECK_FALSE(of_a[i].key == of_a[k].key);
  }
  CHECK(of_a[2].step == StepKey{0, 0, 1});

  source.participants = [](int cell, int index) {
    return static_cast<std::uint32_t>(10 * cell + index + 5);
  };
  CHECK(parts_in(a, source)[0].expected_ranks == 5);
  CHECK(parts_in(a, source)[1].expected_ranks == 6);
  CHECK(parts_in(a, source)[3].expected_ranks == 15);
}

TEST_CASE("Several kernels of one graph are told apart by their order") {
  RankBuilder rank;
  auto graph = rank.operation({0, 0, 0}, 0, OperationKind::graph);
  rank.communicate({0, 5}, graph);
  rank.compute({1, 2}, graph);
  rank.communicate({10, 15}, graph);
  rank.communicate({20, 25}, graph, 1, k_gemm); // no collective by its name
  auto parts = parts_in(rank, source_of({rank}));
  REQUIRE(parts.size() == 2);
  CHECK_FALSE(parts[0].key == parts[1].key);
}

TEST_CASE("With NCCL's word a collective is known by communicator, function and sequence") {
  RankBuilder a, b;
  a.nccl(7, {1, 10}, 5);
  a.nccl(7, {20, 30}, 6, k_broadcast); // functions are counted apart
  a.communicate({0, 10}, 5);
  a.communicate({20, 30}, 6);
  b.nccl(7, {1, 10}, 0); // captured: no operations, no kernels
  ClockModel gpu;
  TraceSource source = source_of({a, b});
  auto of_a = parts_in(a, source, gpu), of_b = parts_in(b, source, gpu);
  REQUIRE(of_a.size() == 2);
  REQUIRE(of_b.size() == 1);
  CHECK(of_a[0].key == of_b[0].key);
  CHECK_FALSE(of_a[0].key == of_a[1].key);
  CHECK(of_a[0].needs_all);
  CHECK_FALSE(of_a[1].needs_all);
  CHECK(of_a[0].expected_ranks == 2);
  b.trace.communicators[0].hash = 78;
  CHECK_FALSE(parts_in(b, source, gpu)[0].key == of_a[0].key);
}

TEST_CASE("A table keeps first and last of all ranks") {
  CollectiveTable table;
  CollectivePart x{.key = {1, 1}}, y{.key = {1, 2}};
  table.add(x, 100, 200, 0);
  table.add(y, 300, 400, 0);
  table.add(x, 130, 210, 1);
  table.add(y, 290, 410, 1);
  table.add(x, 110, 190, 2);
  std::size_t hint = 0;
  const CollectiveSummary* one = table.find({1, 1}, hint);
  REQUIRE(one != nullptr);
  CHECK(one->ranks == 3);
  CHECK(one->first_start_ns == 100);
  CHECK(one->first_rank == 0);
  CHECK(one->last_start_ns == 130);
  CHECK(one->last_rank == 1);
  CHECK(one->second_last_start_ns == 110);
  CHECK(one->second_last_rank == 2);
  CHECK(one->first_end_ns == 190);
  CHECK(one->first_end_rank == 2);
  CHECK(table.index_of(*one) == 0);
  CHECK(table.find({1, 2}, hint)->last_rank == 0);
  CHECK(table.find({5, 5}, hint) == nullptr);
  CHECK(table.find({1, 1}, hint) == one);
}
