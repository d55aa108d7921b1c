// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ncclprobe::base {

// Nanoseconds of CLOCK_MONOTONIC_RAW: never stepped or slewed, comparable between the processes of
// one host.
std::int64_t monotonic_ns();

// "2026-03-01T12:34:56Z".
std::string utc_now();

// The time at which waiting ends.
class Deadline {
public:
  static Deadline after(std::chrono::nanoseconds wait) {
    return Deadline(monotonic_ns() + wait.count());
  }
  static Deadline never() { return Deadline(INT64_MAX); }

  bool expired() const { return monotonic_ns() >= at_ns_; }
  // Time left, never negative; for poll(2), rounded up and at most `limit_ms`.
  std::int64_t left_ns() const;
  int left_ms(int limit_ms) const;

private:
  explicit Deadline(std::int64_t at_ns) : at_ns_(at_ns) {}
  std::int64_t at_ns_;
};

} // namespace ncclprobe::base
