// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/algorithms.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

NcclChoices choices_in(const RankBuilder& rank, std::optional<ClockModel> gpu,
                       std::int64_t wait_ns = 0) {
  OperationIndex operations(rank.trace.operations);
  NcclTimes times = nccl_times(rank.trace, gpu);
  Activities all = activities_of(rank.trace, operations, times);
  Joined joined = join_nccl(rank.trace, times, 0, all);
  for (DeviceActivity& activity : all.all)
    activity.ready_ns += wait_ns;
  return nccl_choices(rank.trace, times, joined, all, operations);
}

} // namespace

TEST_CASE("Time is summed up for each choice of NCCL's") {
  RankBuilder rank;
  rank.nccl(1, {10, 50});
  rank.nccl(2, {100, 160});
  rank.nccl(1, {200, 205}, 0, k_broadcast);
  rank.trace.nccl_operations[2].channels = 8;
  NcclChoices choices = choices_in(rank, ClockModel{}, 10);
  REQUIRE(choices.size() == 2);
  const NcclChoiceTime& ring = choices.at({-1, k_all_reduce, k_ring, 0, 1});
  CHECK(ring.operations == 2);
  CHECK(ring.timed == 2);
  CHECK(ring.length_ns == 100);
  CHECK(ring.wait_ns == 20);
  CHECK(ring.lengths_ns.values() == std::vector<double>{40, 60});
  CHECK(choices.at({-1, k_broadcast, k_ring, 0, 8}).wait_ns == 5); // no more than its length
  NcclChoices twice = choices;
  add(twice, choices);
  CHECK(twice.at({-1, k_all_reduce, k_ring, 0, 1}).length_ns == 200);
}

TEST_CASE("Channels are compared where all of an operation have times") {
  RankBuilder rank;
  for (std::int64_t i = 0; i < 5; ++i) {
    rank.nccl(static_cast<std::uint64_t>(i), {1000 * i + 10, 1000 * i + 110});
    trace::NcclChannelRow second = rank.trace.nccl_channels.back();
    second.channel = 7;
    second.start_gt += 20;
    second.stop_gt += 50;
    if (i == 4)
      second.start_gt = second.stop_gt = 0;
    rank.trace.nccl_channels.push_back(second);
  }
  const ChannelTimes channels =
      choices_in(rank, ClockModel{}).at({-1, k_all_reduce, k_ring, 0, 1}).channels;
  CHECK(channels.operations == 4);
  CHECK(channels.starts_apart_ns.values() == std::vector<double>(4, 20));
  CHECK(channels.ends_apart_ns.values() == std::vector<double>(4, 50));
  CHECK(channels.lengths_ns.at(0).values() == std::vector<double>(4, 100));
  CHECK(channels.lengths_ns.at(7).values() == std::vector<double>(4, 130));
}

TEST_CASE("A wait may be wrong by what clocks are") {
  RankBuilder rank;
  rank.nccl(1, {10, 50});
  rank.nccl(2, {100, 160});
  OperationIndex operations(rank.trace.operations);
  NcclTimes times = nccl_times(rank.trace, ClockModel{});
  Activities all = activities_of(rank.trace, operations, times);
  Joined joined = join_nccl(rank.trace, times, 0, all);
  for (DeviceActivity& activity : all.all)
    activity.ready_error_ns = 50;
  CHECK(nccl_choices(rank.trace, times, joined, all, operations)
            .at({-1, k_all_reduce, k_ring, 0, 1})
            .wait_error_ns == 40 + 50); // none is longer than its operation
}

TEST_CASE("Without channels the kernel's time is shared by the operations in it") {
  RankBuilder rank;
  rank.nccl(1, {0, 0}, 5);
  rank.nccl(2, {0, 0}, 5);
  rank.nccl(3, {0, 0}, 6); // its kernel is lost
  rank.trace.nccl_channels.clear();
  rank.communicate({1000, 1100}, 5);
  NcclChoiceTime time = choices_in(rank, std::nullopt, 30).at({-1, k_all_reduce, k_ring, 0, 1});
  CHECK(time.operations == 3);
  CHECK(time.timed == 2);
  CHECK(time.length_ns == 100);
  CHECK(time.wait_ns == 30);
}

TEST_CASE("Operations outside of the steps do not count") {
  RankBuilder rank;
  auto warm_up = rank.operation({0, -1, 0}), timed = rank.operation({0, 0, 0});
  rank.nccl(1, {10, 40}, warm_up);
  rank.nccl(2, {100, 160}, timed);
  rank.communicate({0, 50}, warm_up);
  rank.communicate({100, 170}, timed);
  NcclChoices choices = choices_in(rank, ClockModel{});
  CHECK(choices.begin()->second.operations == 1);
  CHECK(choices.begin()->second.length_ns == 60);
}

TEST_CASE("What NCCL chose alike in two cells is told apart") {
  RankBuilder rank;
  for (std::uint32_t cell : {0u, 1u}) {
    const auto at = static_cast<std::int64_t>(1000 * cell);
    const auto operation = rank.operation({static_cast<int>(cell), 0, 0});
    rank.nccl(cell, {at + 100, at + 160 + 500 * cell}, operation);
    rank.communicate({at + 90, at + 170 + 500 * cell}, operation);
  }
  NcclChoices choices = choices_in(rank, ClockModel{});
  CHECK(choices.at({0, k_all_reduce, k_ring, 0, 1}).length_ns == 60);
  CHECK(choices.at({1, k_all_reduce, k_ring, 0, 1}).length_ns == 560);
}
