// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/bound_schedule.h"
#include "launch/worker/communicator_cache.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// How long to keep the streams busy while a launch is enqueued: well beyond the longest of the last
// enqueueings, because they take now this long, now that.
class Hold {
public:
  void add_enqueueing(std::int64_t duration_ns);
  // Twice as long at each further try.
  std::int64_t duration_ns(int tries_before) const;

private:
  std::array<std::int64_t, 16> recent_ns_ = {};
  std::size_t next_ = 0;
};

// Times one launch on the device: from the first to the last moment that any stream of the rank is
// between its two events.
//
// Two things are kept out of it. The host's enqueueing: the streams are busy while it enqueues. And
// waiting for ranks that start later: the ranks meet on the device, just before the first event.
class LaunchTimer {
public:
  // All outlive the object.
  LaunchTimer(backend::Backend& backend, CommunicatorCache& communicators,
              const BoundSchedule& schedule, const std::vector<LocalRankState>& local_ranks);

  // Around the enqueueing of one launch, on all ranks. The first launch shows how long enqueueing
  // takes here, so it is for warming up.
  void begin(int tries_before = 0);
  // True if the streams were busy all the while. Else the time has some of the host's in it, on all
  // ranks, because the others wait for this one.
  bool end();
  // When the streams are idle again. 0 for a local rank that the timed region gives no work.
  std::int64_t elapsed_ns(std::size_t local_rank) const;

private:
  struct Lane {
    backend::Stream* stream = nullptr;
    std::unique_ptr<backend::Event> begin;
    std::unique_ptr<backend::Event> end;
  };
  backend::Backend& backend_;
  CommunicatorCache& communicators_;
  const std::vector<LocalRankState>& ranks_;
  std::vector<std::vector<Lane>> lanes_; // by local rank
  // By local rank, where there are several lanes.
  std::vector<std::unique_ptr<backend::Event>> aligned_;
  std::vector<backend::Stream*> first_streams_; // by local rank, or null
  Hold hold_;
  std::int64_t begun_ns_ = 0;
};

} // namespace ncclprobe::worker
