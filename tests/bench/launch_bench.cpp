// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The runner's share of the host's time for each operation of a schedule, beyond the library's
// calls. Run by hand, with an optimised build.
#include "launch/worker/null_backend.h"

#include <fmt/format.h>

int main() {
  using ncclprobe::model::TimingMode;
  for (int operations : {10, 100, 1000, 10'000})
    for (TimingMode mode : {TimingMode::batch, TimingMode::steps})
      fmt::print("{:6} operations, mode {:5}: {:6.1f} ns each\n", operations, to_string(mode),
                 ncclprobe::support::overhead_ns(operations, mode));
}
