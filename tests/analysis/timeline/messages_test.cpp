// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/messages.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::NcclKind;
using trace::OperationKind;

namespace {

MessageHalves halves_in(RankBuilder& builder, int rank, const TraceSource& source,
                        std::optional<ClockModel> gpu = {}) {
  OperationIndex operations(builder.trace.operations);
  NcclTimes times = nccl_times(builder.trace, gpu);
  Activities all = activities_of(builder.trace, operations, times);
  Joined joined = join_nccl(builder.trace, times, 0, all);
  return message_halves(builder.trace, rank, all, joined, operations, TextTraits(source.texts),
                        source);
}

// In operation 3 rank 0 sends to rank 1 and receives from it.
std::vector<DeclaredTransfers> both_ways(int, int index, int rank) {
  if (index != 3)
    return {};
  DeclaredTransfer there{.from = 0, .to = 1, .bytes = 16, .sends = rank == 0};
  DeclaredTransfer back{.from = 1, .to = 0, .bytes = 8, .sends = rank == 1};
  return {{there, back}};
}

} // namespace

TEST_CASE("Without NCCL's word the schedule tells what a group's kernel does") {
  RankBuilder a, b;
  for (RankBuilder* rank : {&a, &b})
    for (std::uint32_t i : {0u, 1u}) {
      rank->compute({100 * i, 100 * i + 10}, rank->operation({0, 0, i}, 0, OperationKind::compute));
      rank->communicate({100 * i + 10, 100 * i + 50},
                        rank->operation({0, 0, i}, 3, OperationKind::group), 1, k_send_recv_kernel);
    }
  TraceSource source = source_of({a, b});
  source.transfers = both_ways;
  auto of_a = halves_in(a, 0, source), of_b = halves_in(b, 1, source);

  REQUIRE(of_a.all.size() == 4);
  REQUIRE(of_b.all.size() == 4);
  CHECK(of_a.kernels_untold == 0);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(of_a.all[i].key == of_b.all[i].key);
    CHECK(of_a.all[i].sends != of_b.all[i].sends);
    CHECK(of_a.all[i].activity == 2 * (i / 2) + 1);
    CHECK(of_a.all[i].peer == 1);
    for (std::size_t k = 0; k < i; ++k)
      CHECK_FALSE(of_a.all[i].key == of_a.all[k].key);
  }
}

TEST_CASE("Kernels whose messages nobody told are counted") {
  RankBuilder rank;
  auto known = rank.operation({0, 0, 0}, 3, OperationKind::group);
  auto unknown = rank.operation({0, 0, 0}, 4, OperationKind::send);
  rank.communicate({0, 5}, known, 1, k_send_recv_kernel);
  rank.communicate({6, 9}, known, 1, k_send_recv_kernel); // a second one
  rank.communicate({10, 15}, unknown, 1, k_send_recv_kernel);
  rank.communicate({20, 25}, rank.operation({0, 0, 0}, 5)); // a collective
  rank.communicate({30, 35}, rank.operation({0, -1, 0}, 3, OperationKind::group), 1,
                   k_send_recv_kernel); // no part of a step
  TraceSource source = source_of({rank});
  source.transfers = both_ways;

  auto halves = halves_in(rank, 0, source);

  CHECK(halves.all.empty());
  CHECK(halves.kernels_untold == 3);
}

TEST_CASE("With NCCL's word messages are known by communicator, ranks and number") {
  RankBuilder a, b;
  // One kernel of a runs two NCCL operations; b has them separately, without kernels.
  auto group = a.operation({0, 0, 0}, 3, OperationKind::group);
  a.nccl_message(NcclKind::send, 0, 1, 5, {10, 20}, group);
  a.nccl_message(NcclKind::receive, 0, 1, 2, {10, 20}, group);
  a.communicate({10, 20}, group, 1, k_send_recv_kernel);
  b.nccl_message(NcclKind::receive, 1, 0, 5, {10, 20});
  b.nccl_message(NcclKind::send, 1, 0, 2, {10, 20});
  b.nccl(9, {30, 40}); // a collective
  TraceSource source = source_of({a, b});
  auto of_a = halves_in(a, 0, source, ClockModel{}), of_b = halves_in(b, 1, source, ClockModel{});

  REQUIRE(of_a.all.size() == 2);
  REQUIRE(of_b.all.size() == 2);
  CHECK(of_a.all[0].activity == of_a.all[1].activity);
  CHECK(of_b.all[0].activity != of_b.all[1].activity);
  for (std::size_t i : {0u, 1u}) {
    CHECK(of_a.all[i].key == of_b.all[i].key);
    CHECK(of_a.all[i].sends == (i == 0));
    CHECK(of_b.all[i].sends == (i == 1));
  }
  CHECK_FALSE(of_a.all[0].key == of_a.all[1].key);
}

TEST_CASE("What NCCL told of and no kernel shows is counted") {
  RankBuilder rank;
  rank.nccl_message(NcclKind::send, 0, 1, 0, {10, 20},
                    rank.operation({0, 0, 0}, 3, OperationKind::group));
  rank.communicate({100, 110}, rank.operation({0, 0, 0}, 5));

  auto halves = halves_in(rank, 0, source_of({rank}));

  CHECK(halves.all.empty());
  CHECK(halves.without_kernel == 1);
}

TEST_CASE("Halves meet, or it is said why not") {
  MessageTable table;
  MessageHalf send{.key = {1, 1}, .sends = true, .amount = 8};
  MessageHalf receive{.key = {1, 1}, .sends = false, .amount = 8};
  table.add(send, {10, 20}, 0);
  table.add(receive, {15, 20}, 1);
  MessageHalf alone{.key = {1, 2}, .sends = true, .amount = 8};
  table.add(alone, {30, 40}, 0);
  MessageHalf small{.key = {1, 3}, .sends = true, .amount = 8};
  MessageHalf large{.key = {1, 3}, .sends = false, .amount = 9};
  table.add(small, {50, 60}, 0);
  table.add(large, {50, 60}, 1);
  MessageHalf twice{.key = {1, 4}, .sends = true, .amount = 8};
  MessageHalf once{.key = {1, 4}, .sends = false, .amount = 8};
  table.add(twice, {70, 80}, 0);
  table.add(twice, {81, 90}, 0);
  table.add(once, {70, 80}, 1);
  table.seal();

  REQUIRE(table.other_half(send).match == MatchState::matched);
  CHECK(table.other_half(send).half->rank == 1);
  CHECK(table.other_half(send).half->span == Span{15, 20});
  CHECK(table.other_half(receive).half->rank == 0);
  CHECK(table.other_half(alone).match == MatchState::alone);
  CHECK(table.other_half(small).match == MatchState::contradicted);
  CHECK(table.other_half(large).match == MatchState::contradicted);
  CHECK(table.other_half(twice).match == MatchState::repeated);
  CHECK(table.other_half(once).match == MatchState::repeated);
  CHECK(table.other_half(once).half == nullptr);
}
