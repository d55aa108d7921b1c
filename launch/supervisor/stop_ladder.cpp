// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/stop_ladder.h"

#include <csignal>

namespace ncclprobe::launch {

using std::chrono::milliseconds;

StopLadder stop_ladder(milliseconds stop_wait, milliseconds term_wait, milliseconds kill_wait) {
  return {{StopRung::Act::close_channel, 0, stop_wait},
          {StopRung::Act::signal, SIGTERM, term_wait},
          {StopRung::Act::signal, SIGKILL, kill_wait}};
}

StopLadder fast_stop_ladder() {
  return stop_ladder(milliseconds(200), milliseconds(150), milliseconds(450));
}

milliseconds total_wait(const StopLadder& ladder) {
  milliseconds total{0};
  for (const StopRung& rung : ladder)
    total += rung.wait;
  return total;
}

} // namespace ncclprobe::launch
