// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/time_parts.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

#include <random>

using namespace ncclprobe::analysis::timeline;

namespace {

Activities activities_in(const RankBuilder& rank) {
  OperationIndex operations(rank.trace.operations);
  return activities(rank.trace, operations);
}

} // namespace

TEST_CASE("A step is split into its parts") {
  RankBuilder rank;
  rank.compute({0, 30});
  rank.communicate({20, 70});
  rank.copy({60, 80});
  rank.helper({75, 90});
  Activities all = activities_in(rank);
  all.all[1].ready_ns = 45; // the last rank came then
  auto parts = parts_of(busy_sets(all), {{0, 100}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0] == TimeParts{.length_ns = 100,
                              .communication_ns = 50,
                              .hidden_ns = 10,
                              .compute_ns = 30,
                              .exposed_wait_ns = 15,
                              .exposed_transfer_ns = 25,
                              .memory_ns = 10,
                              .helper_ns = 10,
                              .idle_ns = 10});
}

TEST_CASE("Communication of two streams counts once, and is a wait only if both wait") {
  RankBuilder rank;
  rank.communicate({0, 100}, 0, 1);
  rank.communicate({50, 150}, 0, 3);
  Activities all = activities_in(rank);
  all.all[0].ready_ns = 80;
  all.all[1].ready_ns = 60;
  TimeParts parts = parts_of(busy_sets(all), {{0, 200}})[0];
  CHECK(parts.communication_ns == 150);
  CHECK(parts.exposed_wait_ns == 60); // from 60 on the second transfers
  CHECK(parts.exposed_transfer_ns == 90);
  CHECK(parts.idle_ns == 50);
}

TEST_CASE("Windows cut what reaches beyond them") {
  RankBuilder rank;
  rank.compute({0, 25});
  rank.communicate({5, 15});
  auto parts = parts_of(busy_sets(activities_in(rank)), {{0, 10}, {10, 20}, {20, 20}});
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].hidden_ns == 5);
  CHECK(parts[1].hidden_ns == 5);
  CHECK(parts[1].compute_ns == 10);
  CHECK(parts[2] == TimeParts{});
}

TEST_CASE("Kernels of no length, streams that overlap and nothing at all do no harm") {
  RankBuilder rank;
  rank.communicate({10, 10});
  rank.compute({10, 10});
  CHECK(parts_of(busy_sets(activities_in(rank)), {{0, 20}})[0].idle_ns == 20);
  CHECK(parts_of(BusySets{}, {{0, 20}})[0].idle_ns == 20);
  CHECK(parts_of(busy_sets(activities_in(rank)), {}).empty());
}

TEST_CASE("Each stream has its own communication, hidden behind any stream's computation") {
  RankBuilder rank;
  rank.compute({0, 10}, 0, 0);
  rank.compute({30, 50}, 0, 5);
  rank.communicate({5, 20}, 0, 1);
  rank.communicate({20, 40}, 0, 1);
  rank.communicate({0, 8}, 0, 2);
  rank.communicate({90, 95}, 0, 1); // in no step
  Activities all = activities_in(rank);
  auto streams = streams_of(all, busy_sets(all).compute, {{0, 25}, {25, 60}});
  REQUIRE(streams.size() == 2);
  CHECK(streams[0].stream == 1);
  CHECK(streams[0].kernels == 2);
  CHECK(streams[0].communication_ns == 35);
  CHECK(streams[0].hidden_ns == 15);
  CHECK(streams[1].communication_ns == 8);
  CHECK(streams[1].hidden_ns == 8);
}

TEST_CASE("The parts of any step add up, and all communication is hidden or exposed") {
  std::mt19937 random(11);
  auto any = [&](std::uint32_t below) { return static_cast<std::int64_t>(random() % below); };
  for (int round = 0; round < 500; ++round) {
    RankBuilder rank;
    for (std::int64_t i = any(40); i > 0; --i) {
      std::int64_t start = any(1000);
      Times times{start, start + any(120)};
      switch (any(4)) {
      case 0:
        rank.compute(times, 0, static_cast<int>(any(3)));
        break;
      case 1:
        rank.communicate(times, 0, static_cast<int>(any(3)));
        break;
      case 2:
        rank.copy(times);
        break;
      default:
        rank.helper(times);
      }
    }
    Activities all = activities_in(rank);
    for (DeviceActivity& activity : all.all)
      activity.ready_ns += any(static_cast<std::uint32_t>(activity.end_ns - activity.start_ns + 1));
    std::int64_t middle = any(1200);
    TimeParts sum;
    for (const TimeParts& parts : parts_of(busy_sets(all), {{0, middle}, {middle, 1200}})) {
      REQUIRE(parts.communication_ns == parts.hidden_ns + parts.exposed_ns());
      REQUIRE(parts.length_ns == parts.compute_ns + parts.exposed_wait_ns +
                                     parts.exposed_transfer_ns + parts.memory_ns + parts.helper_ns +
                                     parts.idle_ns);
      sum.add(parts);
    }
    REQUIRE(sum == parts_of(busy_sets(all), {{0, 1200}})[0]); // however it is cut
    Spans compute, communication;
    for (const DeviceActivity& activity : all.all)
      (activity.kind == Class::compute ? compute : communication)
          .push_back({activity.start_ns,
                      activity.kind == Class::communication || activity.kind == Class::compute
                          ? activity.end_ns
                          : activity.start_ns});
    compute = unite(compute);
    communication = unite(communication);
    REQUIRE(sum.compute_ns == length(compute));
    REQUIRE(sum.hidden_ns == shared_length(compute, communication));
    REQUIRE(sum.exposed_ns() == length(subtract(communication, compute)));
  }
}
