// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/data_check.h"
#include "support/catch.h"
#include "workload/collective_benchmark.h"

using namespace ncclprobe;
using namespace ncclprobe::model;
using worker::CheckMethod;
using worker::choose_method;
using worker::data_flow;
using worker::Slots;

namespace {

Schedule all_reduce(Placement placement) {
  workload::CollectiveRequest request;
  request.bytes = 1024;
  request.placement = placement;
  request.ranks = 2;
  return workload::make_collective_cell(request, {}).value().schedule;
}

} // namespace

TEST_CASE("out of place, the last launch of a batch is checked if there is room for it") {
  auto flow = data_flow(all_reduce(Placement::out_of_place));

  CHECK(flow.results == std::vector<int>{1});
  CHECK(choose_method(flow, TimingMode::batch, Slots::there) == CheckMethod::last_launch);
  CHECK(choose_method(flow, TimingMode::batch, Slots::none) == CheckMethod::separate_launch);
  CHECK(choose_method(flow, TimingMode::latency, Slots::there) == CheckMethod::every_launch);
}

TEST_CASE("in place, a launch needs inputs of its own") {
  auto flow = data_flow(all_reduce(Placement::in_place));

  CHECK_FALSE(flow.repeatable);
  CHECK(choose_method(flow, TimingMode::batch, Slots::there) == CheckMethod::separate_launch);
  CHECK(choose_method(flow, TimingMode::latency, Slots::there) == CheckMethod::every_launch);
}

TEST_CASE("a schedule that changes an input on the way is in place, wherever its results are") {
  Schedule schedule = all_reduce(Placement::out_of_place);
  schedule.operations.push_back({CollectiveOp{Collective::all_reduce, 0, 0, {0}, {0}, 256}});
  schedule.timed.last = 2;

  CHECK_FALSE(data_flow(schedule).repeatable);
}

TEST_CASE("results that operations around the timed region touch cannot go elsewhere") {
  Schedule schedule = all_reduce(Placement::out_of_place);
  schedule.operations.push_back({CopyOp{0, 0, {1}, 0, {1}, 4}});

  auto flow = data_flow(schedule);

  CHECK(flow.repeatable);
  CHECK_FALSE(flow.self_contained);
  CHECK(choose_method(flow, TimingMode::batch, Slots::there) == CheckMethod::separate_launch);
}

TEST_CASE("without promised results there is nothing to check") {
  Schedule schedule = all_reduce(Placement::out_of_place);
  schedule.checks.clear();

  CHECK(choose_method(data_flow(schedule), TimingMode::latency, Slots::there) == CheckMethod::none);
}
