// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/heartbeats.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t k_ms = 1'000'000;

struct HeartbeatLab {
  launch::Heartbeats heartbeats{2};
  std::int64_t now_ns = base::monotonic_ns();

  // Turns follow each other every 100 ms.
  void pass(int ms) {
    for (int i = 0; i < ms; i += 100)
      heartbeats.look(now_ns += 100 * k_ms);
  }
};

} // namespace

TEST_CASE("nobody is silent while nobody is expected to speak") {
  HeartbeatLab lab;

  lab.pass(10'000);
  CHECK_FALSE(lab.heartbeats.silent(0, 1s));

  lab.heartbeats.expect();
  CHECK_FALSE(lab.heartbeats.silent(0, 1s));
}

TEST_CASE("who says nothing is silent after the time given, who speaks is not") {
  HeartbeatLab lab;
  lab.heartbeats.expect();

  lab.pass(3000);

  CHECK(lab.heartbeats.silent(0, 2s));
  CHECK_FALSE(lab.heartbeats.silent(0, 4s));
  lab.heartbeats.stop_expecting();
  CHECK_FALSE(lab.heartbeats.silent(0, 2s));
}

TEST_CASE("a time in which we did not listen ourselves is not their silence") {
  HeartbeatLab lab;
  lab.heartbeats.expect();
  lab.pass(1000);

  lab.heartbeats.look(lab.now_ns += 60'000 * k_ms); // a slow disk
  CHECK_FALSE(lab.heartbeats.silent(1, 2s));
  lab.pass(1500);

  CHECK(lab.heartbeats.silent(1, 2s));
}
