// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/bound_schedule.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// Times one launch on the device: from the first to the last moment that any stream of the rank is
// between its two events. The streams are idle before, so this is what an application sees that
// launches into an idle stream: the launch itself is part of it.
class LaunchTimer {
public:
  LaunchTimer(const BoundSchedule& schedule, const std::vector<SeatState>& seats);

  void begin();
  void end();
  // When the streams are idle again. 0 for a seat that the timed region gives no work.
  std::int64_t elapsed_ns(std::size_t seat) const;

private:
  struct Lane {
    backend::Stream* stream = nullptr;
    std::unique_ptr<backend::Event> begin;
    std::unique_ptr<backend::Event> end;
  };
  const std::vector<SeatState>& seats_;
  std::vector<std::vector<Lane>> lanes_; // by seat
};

} // namespace ncclprobe::worker
