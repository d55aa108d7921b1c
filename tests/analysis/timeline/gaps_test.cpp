// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/gaps.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

Gaps gaps_in(const RankBuilder& rank) {
  OperationIndex operations(rank.trace.operations);
  return only(find_gaps(rank.trace, activities(rank.trace, operations), operations));
}

void check(const Gaps& gaps, GapCause cause, std::uint64_t count, std::int64_t length_ns) {
  INFO(name_of(cause));
  CHECK(gaps.of(cause).count == count);
  CHECK(gaps.of(cause).length_ns == length_ns);
}

} // namespace

TEST_CASE("A gap is the host's if it launched after the kernel before had ended") {
  RankBuilder rank;
  auto operation = [&](std::uint32_t iteration, std::int64_t at_ns) {
    return rank.operation({0, 0, iteration}, 0, trace::OperationKind::compute, at_ns);
  };
  rank.compute({100, 200}, operation(0, 50));
  rank.compute({230, 300}, operation(1, 210));  // late
  rank.compute({304, 400}, operation(2, 220));  // in time
  rank.compute({400, 500}, operation(3, 390));  // no gap
  rank.compute({250, 600}, operation(4, 0), 7); // another stream
  Gaps gaps = gaps_in(rank);
  check(gaps, GapCause::launch_late, 1, 30);
  check(gaps, GapCause::other, 1, 4);
  check(gaps, GapCause::event, 0, 0);
  check(gaps, GapCause::unknown, 0, 0);
}

TEST_CASE("The call of the CUDA runtime tells more exactly when a kernel was launched") {
  RankBuilder rank;
  auto operation = rank.operation({0, 0, 0}, 0, trace::OperationKind::compute, 0);
  rank.compute({100, 200}, operation);
  rank.compute({230, 300}, operation);
  rank.trace.kernels.correlation = {8, 9};
  check(gaps_in(rank), GapCause::other, 1, 30);
  trace::ApiRow late;
  late.correlation = 9;
  late.start_ns = 205;
  rank.trace.api = {late};
  check(gaps_in(rank), GapCause::launch_late, 1, 30);
}

TEST_CASE("A stream that waited for an event waited for it") {
  RankBuilder rank;
  auto operation = rank.operation({0, 0, 0}, 0, trace::OperationKind::compute, 0);
  rank.compute({100, 200}, operation);
  rank.compute({230, 300}, operation);
  rank.trace.kernels.correlation = {8, 20};
  trace::SynchronizationRow wait;
  wait.kind = trace::SynchronizationKind::stream_wait_event;
  wait.event = 3;
  wait.correlation = 10;
  trace::DeviceEventRow record;
  record.event = 3;
  record.correlation = 9;
  record.instance = 41;
  record.at_ns = 228;
  rank.trace.synchronizations = {wait};
  rank.trace.device_events = {record};
  check(gaps_in(rank), GapCause::event, 1, 30);

  rank.trace.synchronizations[0].event_instance = 41;
  check(gaps_in(rank), GapCause::event, 1, 30);
  rank.trace.synchronizations[0].event_instance = 40; // another record of it
  check(gaps_in(rank), GapCause::other, 1, 30);
  rank.trace.synchronizations[0] = wait;

  rank.trace.device_events[0].at_ns = 150; // long past
  check(gaps_in(rank), GapCause::other, 1, 30);
  rank.trace.device_events[0].at_ns = 228;
  rank.trace.device_events[0].correlation = 11; // recorded after the wait was enqueued
  check(gaps_in(rank), GapCause::other, 1, 30);
  rank.trace.device_events[0].correlation = 9;
  rank.trace.synchronizations[0].correlation = 21; // after the second kernel
  check(gaps_in(rank), GapCause::other, 1, 30);
  rank.trace.synchronizations[0].correlation = 10;
  rank.trace.synchronizations[0].stream = 4;
  check(gaps_in(rank), GapCause::other, 1, 30);
}

TEST_CASE("Between batches, and beside our own kernels, a stream may stand still") {
  RankBuilder rank;
  rank.compute({0, 10}, rank.operation({0, 0, 0}));
  rank.compute({20, 30}, rank.operation({0, 1, 0}));
  rank.compute({50, 60}); // of no step
  rank.helper({65, 70});
  rank.compute({80, 90}, rank.operation({0, 1, 1}));
  Gaps gaps = gaps_in(rank);
  for (GapCause cause :
       {GapCause::launch_late, GapCause::event, GapCause::other, GapCause::unknown})
    check(gaps, cause, 0, 0);
}

TEST_CASE("Without any word of launches the cause is unknown") {
  RankBuilder rank;
  rank.compute({0, 10});
  rank.compute({15, 20});
  rank.compute({12, 13}, 0, 1);
  check(gaps_in(rank), GapCause::unknown, 1, 5);
}

TEST_CASE("Gaps are of the cell whose stream stood still") {
  RankBuilder rank;
  for (int cell : {0, 1})
    for (std::uint32_t i = 0; i < 3; ++i)
      rank.compute({1000 * cell + 100 * i, 1000 * cell + 100 * i + (cell == 0 ? 90 : 50)},
                   rank.operation({cell, 0, i}, 0, trace::OperationKind::compute));
  OperationIndex operations(rank.trace.operations);
  const auto cells = find_gaps(rank.trace, activities(rank.trace, operations), operations);
  REQUIRE(cells.size() == 2);
  check(cells.at(0), GapCause::other, 2, 20);
  check(cells.at(1), GapCause::other, 2, 100);
}
