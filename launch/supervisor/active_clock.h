// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace ncclprobe::launch {

// The time of a supervisor's deadlines, in nanoseconds. It stands still while the process is
// stopped (SIGSTOP, Ctrl-Z, a suspended batch job), so nothing becomes due meanwhile.
class ActiveClock {
public:
  static constexpr std::int64_t k_never = INT64_MAX;

  std::int64_t now_ns() const { return base::monotonic_ns() - stopped_ns_; }
  std::int64_t in(std::chrono::nanoseconds wait) const { return now_ns() + wait.count(); }
  bool past(std::int64_t due_ns) const { return now_ns() >= due_ns; }
  void exclude(std::chrono::nanoseconds stopped) { stopped_ns_ += stopped.count(); }

private:
  std::int64_t stopped_ns_ = 0;
};

} // namespace ncclprobe::launch
