// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/trace_builder.h"
#include "analysis/timeline/trace_cut.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

Clocks::OfRank clock_ahead_by(std::int64_t ns) {
  return {0, steady_clock(-ns), ClockModel{}};
}

} // namespace

TEST_CASE("A window keeps what begins in it, on the common clock, and absent columns stay absent") {
  RankBuilder rank;
  rank.compute({1100, 1200});
  rank.compute({1300, 1900}, 0, 7);
  rank.compute({1500, 1600});
  rank.copy({1350, 1360});
  CHECK(keep_window(rank.trace, clock_ahead_by(1000), {300, 500}) == 2);
  CHECK(rank.trace.kernels.start_ns == std::vector<std::uint64_t>{1300});
  CHECK(rank.trace.kernels.stream == std::vector<std::uint16_t>{7});
  CHECK(rank.trace.kernels.grid.empty());
  CHECK(rank.trace.copies.size() == 1);
  CHECK(keep_window(rank.trace, clock_ahead_by(1000), {0, 100}) == 0);
}

TEST_CASE("Channels and steps stay with their operation") {
  RankBuilder rank;
  for (std::int64_t i = 0; i < 10; ++i) {
    rank.nccl(static_cast<std::uint64_t>(i), {100 * i, 100 * i + 350}); // ends in a later window
    trace::NcclStepRow step;
    step.nccl_operation = static_cast<std::uint32_t>(i + 1);
    step.start_ns = static_cast<std::uint64_t>(100 * i + 300);
    rank.trace.nccl_steps.push_back(step);
  }
  trace::NcclStepRow foreign; // another process's
  foreign.start_ns = 450;
  rank.trace.nccl_steps.push_back(foreign);
  CHECK(keep_window(rank.trace, {0, ClockModel{}, ClockModel{}}, {200, 500}) == 3);
  CHECK(rank.trace.nccl_operations.front().sequence == 2);
  CHECK(rank.trace.nccl_channels.size() == 3);
  REQUIRE(rank.trace.nccl_steps.size() == 4);
  CHECK(rank.trace.nccl_steps[0].nccl_operation == 3);
  CHECK(rank.trace.nccl_steps[3].nccl_operation == 0);
}

TEST_CASE("Which times were written over is asked before what tells it is cut") {
  RankBuilder rank;
  for (std::int64_t i = 0; i < 200; ++i)
    rank.nccl(static_cast<std::uint64_t>(i), {100 * i, 100 * i + 50});
  trace::NcclChannelRow& read_late = rank.trace.nccl_channels[10];
  read_late.start_gt = 100 * 74;
  read_late.stop_gt = 100 * 74 + 50;
  rank.trace.nccl_operations[10].enqueue_ns = 1000;
  keep_window(rank.trace, {0, ClockModel{}, ClockModel{}}, {1000, 1500});
  CHECK(rank.trace.channels_overwritten == 1);
  CHECK(rank.trace.nccl_channels.front().start_gt == 0);
}

TEST_CASE("Steps keep what belongs to them and what ran beside them") {
  RankBuilder rank;
  rank.compute({0, 50}, rank.operation({0, -1, 0}, 0, trace::OperationKind::compute)); // warm-up
  for (std::uint32_t step = 0; step < 4; ++step) {
    std::int64_t at = 1000 * (step + 1);
    auto reduce = rank.operation({0, 0, step}, 0);
    rank.communicate({at, at + 1100}, reduce); // reaches into the next step
    rank.nccl(step, {at, at + 1100}, reduce);
    rank.helper({at + 500, at + 510});
  }
  RankTrace whole = rank.trace;
  const Clocks::OfRank clock{0, ClockModel{}, ClockModel{}};
  keep_steps(rank.trace, clock, {{0, 0, 2}}, Pass::everything);
  // Step 2's own rows, the rest of step 1's, and the concurrent helper; step 3's from the end of
  // the batch on.
  CHECK(rank.trace.kernels.start_ns == std::vector<std::uint64_t>{2000, 3000, 3500, 4000});
  CHECK(rank.trace.nccl_operations.size() == 3);
  CHECK(rank.trace.nccl_channels.size() == 3);
  CHECK(OperationIndex(rank.trace.operations).steps().size() == 1);

  keep_steps(whole, clock, {{1, 0, 0}}, Pass::everything); // this rank has none of these
  CHECK(whole.kernels.size() == 0);
  CHECK(whole.nccl_operations.empty());
}
