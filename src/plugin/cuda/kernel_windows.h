// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/kernel_recording.h"

#include <cstdint>
#include <optional>

namespace ncclprobe::plugin {

// When kernels are recorded: `steps` of every `every` steps, because CUPTI slows a job; `every` 0:
// always. Counted steps do not begin where the job's do, so one more than asked for is recorded. A
// job whose steps do not repeat has no steps to count: if none is found for k_patience_ns, kernels
// are recorded for k_on_ns of every k_patience_ns.
class KernelWindows {
public:
  static constexpr std::uint64_t k_patience_ns = 20'000'000'000;
  static constexpr std::uint64_t k_on_ns = 1'000'000'000;

  KernelWindows(std::uint64_t steps, std::uint64_t every) : steps_(steps), every_(every) {}

  // `since_ns`: since recording began.
  bool wants(const JobProgress& progress, std::uint64_t since_ns) {
    if (progress.ended)
      return false;
    if (every_ == 0)
      return true;
    if (progress.steps_known) {
      // Counted anew when another sequence of collectives repeats: then there may be fewer.
      if (!first_step_ || progress.steps < *first_step_)
        first_step_ = progress.steps;
      last_known_ns_ = since_ns;
      return (progress.steps - *first_step_) % every_ <= steps_;
    }
    const std::uint64_t unknown_ns = since_ns - last_known_ns_;
    return unknown_ns >= k_patience_ns && unknown_ns % k_patience_ns < k_on_ns;
  }

private:
  std::uint64_t steps_, every_;
  std::optional<std::uint64_t> first_step_;
  std::uint64_t last_known_ns_ = 0;
};

} // namespace ncclprobe::plugin
