// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/heartbeats.h"

#include <algorithm>

namespace ncclprobe::launch {
namespace {

// Turns of the event loop follow each other faster than this, unless this process was held up.
constexpr std::int64_t k_gap_ns = 250'000'000;
constexpr std::int64_t k_request_interval_ns = 1'000'000'000;

} // namespace

Heartbeats::Heartbeats(int supervisors)
    : heard_ns_(supervisors), looked_ns_(base::monotonic_ns()) {}

void Heartbeats::heard(int from) {
  heard_ns_.at(from) = base::monotonic_ns();
}

void Heartbeats::expect() {
  since_ns_ = looked_ns_ = base::monotonic_ns();
}

void Heartbeats::look(std::int64_t now_ns) {
  std::int64_t gap_ns = now_ns - looked_ns_;
  looked_ns_ = now_ns;
  if (gap_ns < k_gap_ns || !expecting())
    return;
  since_ns_ += gap_ns;
  for (std::int64_t& heard_ns : heard_ns_)
    heard_ns = std::min(heard_ns + gap_ns, now_ns);
}

bool Heartbeats::silent(int supervisor, std::chrono::nanoseconds longer_than) const {
  std::int64_t heard_ns = heard_ns_.at(supervisor);
  return expecting() && looked_ns_ - std::max(heard_ns, since_ns_) > longer_than.count();
}

bool Heartbeats::request_due() {
  if (!expecting())
    expect();
  const std::int64_t now_ns = base::monotonic_ns();
  const bool due = now_ns >= next_request_ns_;
  if (due)
    next_request_ns_ = now_ns + k_request_interval_ns;
  return due;
}

} // namespace ncclprobe::launch
