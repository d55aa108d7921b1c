// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/clock_readings.h"
#include "support/catch.h"

#include <random>

using namespace ncclprobe;
using nvidia::clock_reading;
using nvidia::ClockBracket;

TEST_CASE("a reading is bounded by all of its brackets") {
  // Host = GPU + 1000, within what each allows.
  std::vector<ClockBracket> brackets{{5'000, 4'100, 5'300},  // -> [900, 1200]
                                     {6'000, 5'020, 6'500},  // -> [980, 1480]
                                     {7'000, 5'990, 7'010}}; // -> [1010, 1020]

  auto row = clock_reading(brackets, 0);

  REQUIRE(row);
  CHECK(row->kind == trace::ClockKind::globaltimer);
  CHECK(row->at_ns == 5'020);
  CHECK(row->offset_ns == 1'015);
  CHECK(row->error_ns == 5);
  CHECK(row->round_trip_ns == 10);
}

TEST_CASE("the timer's step makes the bound wider to one side only") {
  std::vector<ClockBracket> brackets{{1'000, 500, 1'100}};

  auto row = clock_reading(brackets, 32);

  REQUIRE(row); // [500 - 32, 600]
  CHECK(row->offset_ns == 534);
  CHECK(row->error_ns == 66);
}

TEST_CASE("no brackets and brackets that contradict each other are no reading") {
  CHECK_FALSE(clock_reading({}, 32));
  std::vector<ClockBracket> torn{{1'000, 500, 1'100}, {2'000, 4'500, 2'100}};
  CHECK_FALSE(clock_reading(torn, 32));
}

TEST_CASE("the true offset is always within the error") {
  std::mt19937_64 random(7);
  auto anything = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  for (int trial = 0; trial < 200; ++trial) {
    std::int64_t offset_ns = anything(2'000'000) - 1'000'000;
    constexpr std::int64_t k_step_ns = 32;
    std::vector<ClockBracket> brackets;
    std::int64_t host_ns = 10'000'000'000;
    for (int i = 0; i < 50; ++i) {
      host_ns += 3'000;
      std::int64_t there_ns = 400 + anything(2'000);
      std::int64_t back_ns = 400 + anything(2'000);
      std::int64_t gpu_ns = host_ns + there_ns - offset_ns;
      gpu_ns -= gpu_ns % k_step_ns;
      brackets.push_back(
          {host_ns, static_cast<std::uint64_t>(gpu_ns), host_ns + there_ns + back_ns});
    }

    auto row = clock_reading(brackets, k_step_ns);

    REQUIRE(row);
    CHECK(std::abs(row->offset_ns - offset_ns) <= static_cast<std::int64_t>(row->error_ns));
    CHECK(row->error_ns < 1'000);
  }
}
