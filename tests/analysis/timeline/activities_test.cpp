// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

#include <utility>

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::OperationKind;

namespace {

StepWindows windows_of(const RankBuilder& rank) {
  OperationIndex operations(rank.trace.operations);
  return step_windows(activities(rank.trace, operations), operations);
}

} // namespace

TEST_CASE("Kernels and copies come in the order of their begin, with their class") {
  RankBuilder rank;
  auto copying = rank.operation({0, 0, 0}, 0, OperationKind::copy);
  rank.compute({50, 60});
  rank.communicate({10, 30});
  rank.helper({0, 5});
  rank.copy({20, 25});
  rank.compute({70, 75}, copying); // a copy that a kernel does
  OperationIndex operations(rank.trace.operations);
  Activities out = activities(rank.trace, operations);
  std::vector<Class> kinds;
  std::vector<std::int64_t> starts;
  for (const DeviceActivity& activity : out.all) {
    kinds.push_back(activity.kind);
    starts.push_back(activity.start_ns);
    CHECK(activity.ready_ns == activity.start_ns);
  }
  CHECK(starts == std::vector<std::int64_t>{0, 10, 20, 50, 70});
  CHECK(kinds == std::vector{Class::helper, Class::communication, Class::memory, Class::compute,
                             Class::memory});
}

TEST_CASE("Kernels without times are left out and counted, long ones have their real length") {
  RankBuilder rank;
  rank.kernel({5, 5}, 0, 0, k_gemm, trace::k_no_times);
  rank.compute({10, 20});
  rank.trace.kernels.duration_ns.back() = trace::k_long_duration;
  rank.trace.long_durations.push_back({10, 7'000'000'000, trace::Table::kernel});
  rank.trace.long_durations.push_back({10, 1, trace::Table::copy}); // another's
  OperationIndex operations(rank.trace.operations);
  Activities out = activities(rank.trace, operations);
  REQUIRE(out.all.size() == 1);
  CHECK(out.all[0].end_ns == 7'000'000'010);
  CHECK(out.without_times == 1);
}

TEST_CASE("A step lasts from its first activity to the next step's first") {
  RankBuilder rank;
  auto first = rank.operation({0, 0, 0}), second = rank.operation({0, 0, 1});
  auto other_batch = rank.operation({0, 1, 0}), warm_up = rank.operation({0, -1, 0});
  rank.compute({0, 5}, warm_up);
  rank.compute({10, 20}, first);
  rank.communicate({12, 40}, first); // reaches into the next step
  rank.compute({30, 35}, second);
  rank.helper({90, 99});
  rank.compute({100, 110}, other_batch);
  StepWindows steps = windows_of(rank);
  CHECK(steps.keys == std::vector<StepKey>{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}});
  CHECK(steps.windows == Spans{{10, 30}, {30, 40}, {100, 110}});
}

TEST_CASE("The last step of a batch may have no known end") {
  RankBuilder rank;
  for (int step = 0; step < 4; ++step) {
    const StepKey key{0, step / 3, static_cast<std::uint32_t>(step % 3)};
    rank.compute({100 * step, 100 * step + 40}, rank.operation(key));
  }
  OperationIndex operations(rank.trace.operations);
  const StepWindows steps = step_windows(activities(rank.trace, operations), operations, true);
  CHECK(steps.windows == Spans{{0, 100}, {100, 200}});
  CHECK(steps.keys == std::vector<StepKey>{{0, 0, 0}, {0, 0, 1}});
}

TEST_CASE("Steps that begin in another order than they were enqueued never overlap") {
  RankBuilder rank;
  auto first = rank.operation({0, 0, 0}), second = rank.operation({0, 0, 1});
  auto third = rank.operation({0, 0, 2}), empty = rank.operation({0, 0, 3});
  CHECK(empty == 4); // nothing ran of it
  rank.compute({20, 50}, first);
  rank.compute({10, 15}, second);
  rank.compute({30, 40}, third);
  StepWindows steps = windows_of(rank);
  CHECK(steps.keys.size() == 3);
  CHECK(steps.windows == Spans{{10, 10}, {10, 30}, {30, 50}});
}

TEST_CASE("A trace without steps is one step, and none without activities") {
  RankBuilder rank;
  rank.compute({10, 20});
  rank.communicate({15, 70});
  StepWindows steps = windows_of(rank);
  CHECK(steps.keys == std::vector<StepKey>{{-1, -1, 0}});
  CHECK(steps.windows == Spans{{10, 70}});
  CHECK(windows_of({}).windows.empty());
}

TEST_CASE("Operations are found by number, whatever their order") {
  std::vector<trace::OperationRow> rows(3);
  rows[0].id = 3;
  rows[0].batch = 0;
  rows[0].iteration = 1;
  rows[1].id = 1;
  rows[1].batch = 0;
  rows[2].id = 4'000'000'000; // damage: numbers count from 1
  OperationIndex operations(rows);
  CHECK(operations.find(0) == nullptr);
  CHECK(operations.find(1) == &rows[1]);
  CHECK(operations.find(2) == nullptr);
  CHECK(operations.find(3) == &rows[0]);
  CHECK(operations.find(4'000'000'000) == nullptr);
  CHECK(operations.steps().size() == 2);
  CHECK(operations.step_of(1) == 0);
  CHECK(operations.step_of(3) == 1);
  CHECK(operations.step_of(2) == k_no_step);
}

TEST_CASE("Without kernels NCCL's channels are the communication") {
  RankBuilder rank;
  rank.nccl(1, {100, 130});
  rank.nccl(2, {200, 220});
  rank.trace.nccl_channels.push_back(rank.trace.nccl_channels.back());
  rank.trace.nccl_channels.back().stop_gt = 260; // a second channel of the second one
  rank.trace.nccl_channels.back().channel = 1;
  OperationIndex operations(rank.trace.operations);

  const ClockModel gpu = steady_clock(1000);
  NcclTimes times = nccl_times(rank.trace, gpu);
  Activities out = activities_of(rank.trace, operations, times);
  REQUIRE(out.all.size() == 2);
  CHECK(out.from_nccl);
  CHECK(out.heard == 0);
  CHECK(out.all[0].start_ns == 1100);
  CHECK(out.all[1].end_ns == 1260);
  CHECK(out.all[1].nccl == 2);
  CHECK(out.all[1].name == k_all_reduce);

  // Without the GPU's clock the host's word counts; lengths stay the GPU's.
  for (auto& channel : rank.trace.nccl_channels) {
    channel.start_ns = channel.start_gt + 5000;
    channel.stop_ns = channel.stop_gt + 5010;
  }
  times = nccl_times(rank.trace, std::nullopt);
  out = activities_of(rank.trace, operations, times);
  CHECK(out.heard == 2);
  CHECK(out.all[1].start_ns == 5200);
  CHECK(out.all[1].end_ns == 5270);
  CHECK(times.length_ns == std::vector<std::int64_t>{30, 60});

  // Beside times of the GPU's it does not: it is late.
  auto& first = rank.trace.nccl_channels[0];
  std::uint64_t stop_gt = std::exchange(first.stop_gt, 0);
  times = nccl_times(rank.trace, gpu);
  CHECK(times.on_rank_clock == std::vector<bool>{false, true});
  CHECK(times.length_ns == std::vector<std::int64_t>{0, 60});
  CHECK(activities_of(rank.trace, operations, times).without_times == 1);
  first.stop_gt = stop_gt;

  // A channel that never ended.
  rank.trace.nccl_channels[0].stop_gt = rank.trace.nccl_channels[0].stop_ns = 0;
  out = activities_of(rank.trace, operations, nccl_times(rank.trace, gpu));
  CHECK(out.all.size() == 1);
  CHECK(out.without_times == 1);
}
