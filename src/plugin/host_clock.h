// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace ncclprobe::plugin {

inline std::uint64_t clock_now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The clock of all host times in rows.
inline std::uint64_t host_now() {
  return clock_now(CLOCK_MONOTONIC_RAW);
}

} // namespace ncclprobe::plugin
