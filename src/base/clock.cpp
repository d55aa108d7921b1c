// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <algorithm>
#include <ctime>

namespace ncclprobe::base {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string utc_now() {
  std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[sizeof "2026-03-01T12:34:56Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::int64_t Deadline::left_ns() const {
  return at_ns_ == INT64_MAX ? INT64_MAX : std::max<std::int64_t>(0, at_ns_ - monotonic_ns());
}

int Deadline::left_ms(int limit_ms) const {
  std::int64_t left = left_ns();
  if (left >= std::int64_t{limit_ms} * 1'000'000)
    return limit_ms;
  return static_cast<int>((left + 999'999) / 1'000'000);
}

} // namespace ncclprobe::base
