// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/bound_schedule.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// Times one launch on the device: from the first to the last moment that any stream of the rank is
// between its two events. Before the first event each stream is kept busy for a moment, in which
// the host enqueues the launch: so the time is the operation's own, without the host's share.
class LaunchTimer {
public:
  // `enqueue_ns`: what the host needs to enqueue the launch.
  LaunchTimer(const BoundSchedule& schedule, const std::vector<SeatState>& seats,
              std::int64_t enqueue_ns);

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
  std::uint64_t hold_ns_;
};

} // namespace ncclprobe::worker
