// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

namespace ncclprobe::launch {

// How a worker's process group is stopped, as data: each rung is tried in turn and given time. The
// first rung closes the channel: a worker that can still react sees end of file and exits.
struct StopRung {
  enum class Act { close_channel, signal } act = Act::signal;
  int signal = 0;
  std::chrono::milliseconds wait{0}; // before the next rung
};

using StopLadder = std::vector<StopRung>;

// Close, SIGTERM, SIGKILL with these waits; after the last one a worker counts as lost.
StopLadder stop_ladder(std::chrono::milliseconds stop_wait, std::chrono::milliseconds term_wait,
                       std::chrono::milliseconds kill_wait);

// For an interrupted run: after SIGTERM, Open MPI gives its ranks under a second in all.
StopLadder fast_stop_ladder();

std::chrono::milliseconds total_wait(const StopLadder& ladder);

} // namespace ncclprobe::launch
