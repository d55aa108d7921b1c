// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace ncclprobe::launch {

// How often a supervisor sends a heartbeat while others wait for it.
inline constexpr std::chrono::milliseconds k_heartbeat_interval{500};

// For how long others have been silent while heartbeats were expected from them. Time in which we
// did not listen ourselves does not count.
class Heartbeats {
public:
  explicit Heartbeats(int supervisors);

  void heard(int from);
  void expect(); // from now on silence counts
  void stop_expecting() { since_ns_ = next_request_ns_ = 0; }
  bool expecting() const { return since_ns_ != 0; }
  // Call it in every turn, after messages were received.
  void look() { look(base::monotonic_ns()); }
  void look(std::int64_t now_ns);
  bool silent(int supervisor, std::chrono::nanoseconds longer_than) const;
  // True once a second, while heartbeats are expected: request one now. Expects heartbeats from the
  // first call on.
  bool request_due();

private:
  std::vector<std::int64_t> heard_ns_; // by supervisor
  std::int64_t since_ns_ = 0;          // 0: no heartbeats are expected
  std::int64_t looked_ns_;
  std::int64_t next_request_ns_ = 0;
};

} // namespace ncclprobe::launch
