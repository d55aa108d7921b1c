// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/clock_envelope.h"
#include "support/catch.h"

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

using namespace ncclprobe::launch;

TEST_CASE("symmetric pings give the offset and half the round trip as its error") {
  std::vector<ClockPing> pings{{1000, 6050, 1100}};
  ClockReading reading = envelope_of(pings);
  CHECK(reading.offset_ns == 5000);
  CHECK(reading.error_ns == 51); // half of it, and what 100 ppm are in 50 ns
  CHECK(reading.round_trip_ns == 100);
  CHECK(reading.at_ns == 1050);
}

TEST_CASE("every ping narrows the envelope, the late ones do no harm") {
  // true offset 5000: out 10 and back 90, out 80 and back 20, and one that was held up
  std::vector<ClockPing> pings{{1000, 6010, 1100}, {2000, 7080, 2100}, {3000, 8900, 9000}};
  ClockReading reading = envelope_of(pings);
  // low = max(answered - heard) = 4980, high = min(answered - sent) = 5010
  CHECK(reading.offset_ns == 4995);
  CHECK(reading.error_ns == 16); // and what 100 ppm are in some us
}

TEST_CASE("clocks that drift apart during slow pings are within the bound") {
  for (const double drift : {-90e-6, 90e-6}) {
    std::vector<ClockPing> pings;
    for (int i = 0; i < 100; ++i) {
      ClockPing ping;
      ping.sent_ns = 1'000'000'000'000 + i * 1'000'000; // 100 ms in all
      const double there = static_cast<double>(ping.sent_ns + 400 - 1'000'000'000'000);
      ping.answered_ns = ping.sent_ns + 400 + std::llround(7000 + drift * there);
      ping.heard_ns = ping.sent_ns + 900;
      pings.push_back(ping);
    }
    const ClockReading reading = envelope_of(pings);
    const double truth = 7000 + drift * static_cast<double>(reading.at_ns - 1'000'000'000'000);
    CHECK(std::abs(static_cast<double>(reading.offset_ns) - truth) <=
          1 + static_cast<double>(reading.error_ns));
  }
}

TEST_CASE("an injected offset lies within the bound, whatever the delays of both ways") {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::uniform_int_distribution<std::int64_t> any(-1'000'000'000, 1'000'000'000);
    std::exponential_distribution<double> late(1.0 / 2000);
    std::int64_t offset = any(random);
    std::vector<ClockPing> pings;
    std::int64_t now = 1'000'000'000'000;
    for (int i = 0; i < 100; ++i) {
      ClockPing ping;
      ping.sent_ns = now;
      std::int64_t out = 300 + std::llround(late(random)), back = 700 + std::llround(late(random));
      ping.answered_ns = now + out + offset;
      ping.heard_ns = now + out + back;
      now = ping.heard_ns + 50;
      pings.push_back(ping);
    }
    ClockReading reading = envelope_of(pings);
    CHECK(std::abs(reading.offset_ns - offset) <= reading.error_ns);
    CHECK(reading.error_ns <= 3000);
  }
}

TEST_CASE("down a tree offsets and errors add up, and what is old counts for less") {
  ClockReading own{100, 50, 5, 12};
  ClockReading root{0, 0, 0, 0};
  CHECK(compose(own, root, 1'000'000).error_ns == 5);
  ClockReading parent{90, -20, 7, 10};
  ClockReading sum = compose(own, parent, 1'000'000);
  CHECK(sum.at_ns == 100);
  CHECK(sum.offset_ns == 30);
  CHECK(sum.error_ns == 5 + 7 + 100); // 1 ms at 1e-4
}
