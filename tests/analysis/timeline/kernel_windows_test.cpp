// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/kernel_windows.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

constexpr std::int64_t k_us = 1'000;
constexpr std::int64_t k_wrong_ns = 40 * k_us; // by which the GPU's clock seems to be late

// Steps of 1 ms: products until 600 us, an all-reduce from 400 to 700 us whose kernel takes 2 us
// more at each end, a copy from the host at 900 us for 50 us. Kernels are recorded in steps 2 to 5,
// of which 3 and 4 are whole.
RankBuilder captured_job() {
  RankBuilder rank;
  for (std::uint32_t step = 0; step < 8; ++step) {
    const std::int64_t at = (1 + step) * 1'000 * k_us;
    const auto operation = rank.operation({0, 0, step});
    rank.nccl(step, {at + 400 * k_us + k_wrong_ns, at + 700 * k_us + k_wrong_ns}, operation);
    rank.trace.nccl_operations.back().enqueue_ns = static_cast<std::uint64_t>(at + 300 * k_us);
    if (step < 2 || step > 5)
      continue;
    rank.compute({at, at + 600 * k_us});
    rank.communicate({at + 398 * k_us, at + 702 * k_us});
    rank.copy({at + 900 * k_us, at + 950 * k_us});
    rank.trace.copies.kind.push_back(trace::CopyKind::host_to_device);
  }
  rank.trace.kernel_windows = {
      {static_cast<std::uint64_t>(2'900 * k_us), static_cast<std::uint64_t>(6'900 * k_us)}};
  return rank;
}

} // namespace

TEST_CASE("communication of a captured job is NCCL's, at the times of its kernels") {
  const RankBuilder rank = captured_job();
  const OperationIndex operations(rank.trace.operations);
  Activities all = activities_of(rank.trace, operations, nccl_times(rank.trace, steady_clock(0)));
  CHECK(all.from_nccl);

  take_kernel_times(rank.trace, all);

  std::size_t communications = 0;
  for (const DeviceActivity& activity : all.all) {
    if (activity.kind != Class::communication)
      continue;
    const std::int64_t at = (1 + static_cast<std::int64_t>(communications)) * 1'000 * k_us;
    const bool in_window = communications >= 2 && communications <= 5;
    CHECK(activity.step == communications);
    CHECK(activity.start_ns == at + (in_window ? 398 * k_us : 400 * k_us + k_wrong_ns));
    CHECK(activity.end_ns == at + (in_window ? 702 * k_us : 700 * k_us + k_wrong_ns));
    ++communications;
  }
  CHECK(communications == 8); // each once
}

TEST_CASE("communication of a captured job was not alone where no kernels were recorded") {
  TraceSource source = source_of({captured_job()});
  source.ranks[0].clocks = {{0, 0, 1'000, 0, trace::ClockKind::globaltimer}};

  const Timeline timeline = analysed(source);

  std::uint64_t communications = 0;
  for (const Slowdown& one : timeline.slowdowns) {
    if (!one.kind.communication)
      continue;
    CHECK(one.alone == 0);
    communications += one.overlapped;
  }
  CHECK(communications == 4); // of steps 2 to 5
}

TEST_CASE("a step of a captured job counts if all of it was recorded") {
  TraceSource source = source_of({captured_job()});
  source.ranks[0].clocks = {{0, 0, 1'000, 0, trace::ClockKind::globaltimer}};

  const Timeline timeline = analysed(source);

  const PartsSum& cell = only(timeline.ranks[0].cells);
  CHECK(cell.lengths_ns.values().size() == 8);
  CHECK(cell.steps == cell.steps_with_kernels);
  REQUIRE(cell.steps == 2); // begin with their first communication: 3.0 and 4.0
  CHECK(cell.parts.length_ns == 2 * 1'000 * k_us);
  CHECK(cell.parts.communication_ns == 2 * 304 * k_us);
  CHECK(cell.parts.compute_ns == 2 * 600 * k_us);
  CHECK(cell.parts.hidden_ns == 2 * 202 * k_us);
  CHECK(cell.parts.memory_ns == 2 * 50 * k_us);
  CHECK(cell.idle.input_ns == 2 * 198 * k_us);
  CHECK(cell.idle.host_late_ns == 2 * 50 * k_us);
  CHECK(cell.idle.launch_ns == 0);
}

TEST_CASE("a window that no step fits into leaves the steps without computing") {
  RankBuilder rank = captured_job();
  rank.trace.kernel_windows = {
      {static_cast<std::uint64_t>(2'900 * k_us), static_cast<std::uint64_t>(3'900 * k_us)}};
  TraceSource source = source_of({rank});
  source.ranks[0].clocks = {{0, 0, 1'000, 0, trace::ClockKind::globaltimer}};

  const Timeline timeline = analysed(source);

  CHECK(only(timeline.ranks[0].cells).steps == 8);
  CHECK(only(timeline.ranks[0].cells).steps_with_kernels == 0);
}
