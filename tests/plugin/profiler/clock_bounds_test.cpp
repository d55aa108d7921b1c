// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/clock_bounds.h"

#include "support/catch.h"

#include <cstdlib>

using namespace ncclprobe;
using plugin::ClockBounds;

namespace {

constexpr std::int64_t k_offset_ns = -1'795'313'718'714'396'000; // host less GPU
constexpr std::uint64_t k_begin_gt = 1'795'313'780'000'000'000;

std::uint64_t on_host(std::uint64_t gpu_ns) {
  return gpu_ns + static_cast<std::uint64_t>(k_offset_ns);
}

// Asked for `launch_ns` before it begins, heard of `late_ns` after; 20 us long, one every 100 us.
void add(ClockBounds& bounds, std::uint32_t operation, std::int64_t launch_ns,
         std::uint64_t late_ns) {
  trace::NcclChannelRow row;
  row.nccl_operation = operation;
  row.start_gt = k_begin_gt + operation * 100'000;
  row.stop_gt = row.start_gt + 20'000;
  row.start_ns = on_host(row.start_gt) + late_ns;
  row.stop_ns = on_host(row.stop_gt) + late_ns;
  bounds.add(row, on_host(row.start_gt) - static_cast<std::uint64_t>(launch_ns));
}

} // namespace

TEST_CASE("a GPU's clock lies between what was asked for and what was heard of") {
  ClockBounds bounds;
  add(bounds, 1, 9'000, 30'000);
  add(bounds, 2, 4'000, 50'000);
  add(bounds, 3, 7'000, 1'000);

  auto reading = bounds.reading();

  REQUIRE(reading);
  CHECK(reading->kind == trace::ClockKind::globaltimer);
  CHECK(reading->round_trip_ns == 5'000); // 4 us before, 1 us after
  CHECK(reading->offset_ns == k_offset_ns - 4'000 + 2'500);
  CHECK(reading->error_ns == 2'500 + 11); // 110 us from the middle to either end, 1e-4 each
  CHECK(std::abs(reading->offset_ns - k_offset_ns) <= static_cast<std::int64_t>(reading->error_ns));
}

TEST_CASE("bounds that contradict all others are given up") {
  ClockBounds bounds;
  for (std::uint32_t operation = 10; operation < 100; ++operation)
    add(bounds, operation, 4'000, 2'000);

  SECTION("told after it had begun") {
    for (int channel = 0; channel < 24; ++channel)
      add(bounds, 1, -5'000 - channel, 40'000);
  }
  SECTION("heard of before it was") {
    for (int channel = 0; channel < 24; ++channel)
      add(bounds, 1, 300'000, static_cast<std::uint64_t>(-90'000 - channel));
  }

  auto reading = bounds.reading();
  REQUIRE(reading);
  CHECK(reading->round_trip_ns == 6'000);
  CHECK(reading->offset_ns == k_offset_ns - 4'000 + 3'000);
}

TEST_CASE("a clock that was set has no reading") {
  ClockBounds bounds;
  for (std::uint32_t operation = 1; operation <= 50; ++operation)
    add(bounds, operation, operation % 2 == 0 ? 4'000 : 5'000'000,
        operation % 2 == 0 ? 1'000 : static_cast<std::uint64_t>(-4'000'000));

  CHECK_FALSE(bounds.reading());
}

TEST_CASE("without operations there is nothing to tell a clock by") {
  CHECK_FALSE(ClockBounds().reading());
}
