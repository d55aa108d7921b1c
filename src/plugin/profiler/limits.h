// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ncclprobe::plugin {

// How much of a process is recorded; 0: no such limit.
struct Limits {
  std::uint64_t for_ns = 0;     // recording stops after this time
  std::uint64_t last_ns = 0;    // only the events of this last time are kept, or somewhat more
  std::uint64_t most_bytes = 0; // of the process's files together
  // Recording stops after so many steps (StepCounter). With `every`, it goes on, and only kernels
  // are limited: to this number of steps of every so many.
  std::uint64_t steps = 0;
  std::uint64_t every = 0;
};

// "30 s", "500 ms"
inline std::string time_in_words(std::uint64_t ns) {
  const std::uint64_t ms = ns / 1'000'000;
  return ms % 1'000 == 0 ? std::to_string(ms / 1'000) + " s" : std::to_string(ms) + " ms";
}

} // namespace ncclprobe::plugin
