// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/step_counter.h"

#include <cstdint>
#include <optional>
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

// Whether the steps of a limit are over. Equal layers look like steps until the first step ends, so
// recording goes on until the counter is certain, but no longer than k_most_doubt_ns.
class StepLimit {
public:
  static constexpr std::uint64_t k_most_doubt_ns = 60'000'000'000;

  explicit StepLimit(std::uint64_t wanted) : wanted_(wanted) {}

  bool is_over(const StepCounter& counter, std::uint64_t now_ns) {
    if (counter.steps() < wanted_) {
      reached_ns_.reset();
      return false;
    }
    if (!reached_ns_)
      reached_ns_ = now_ns;
    return counter.is_certain() || now_ns - *reached_ns_ >= k_most_doubt_ns;
  }

private:
  std::uint64_t wanted_;
  std::optional<std::uint64_t> reached_ns_;
};

// "30 s", "500 ms"
inline std::string time_in_words(std::uint64_t ns) {
  const std::uint64_t ms = ns / 1'000'000;
  return ms % 1'000 == 0 ? std::to_string(ms / 1'000) + " s" : std::to_string(ms) + " ms";
}

// What is left out of a recording from now on, and why; empty: it goes on. `is_full`: rows were
// left out because of the bytes.
inline std::string limit_reached(const Limits& limits, std::uint64_t since_start_ns,
                                 bool steps_are_over, bool is_full) {
  if (limits.for_ns != 0 && since_start_ns >= limits.for_ns)
    return "NCCL's operations after " + time_in_words(limits.for_ns) + ", the limit of time";
  if (limits.steps != 0 && limits.every == 0 && steps_are_over)
    return "NCCL's operations after " + std::to_string(limits.steps) + " steps, the limit of steps";
  if (limits.last_ns == 0 && is_full)
    return "NCCL's operations after " + std::to_string(limits.most_bytes) +
           " bytes, the limit of size";
  return "";
}

} // namespace ncclprobe::plugin
