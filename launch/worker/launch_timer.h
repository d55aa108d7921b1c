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

// How long to keep the streams busy while a launch is enqueued: much longer than the longest recent
// enqueueing, because the durations vary.
class Hold {
public:
  void add_enqueueing(std::int64_t duration_ns);
  // Doubles at each further attempt.
  std::int64_t duration_ns(int tries_before) const;

private:
  std::array<std::int64_t, 16> recent_ns_ = {};
  std::size_t next_ = 0;
};

// Times one launch on the device: from the first to the last moment at which any stream of the rank
// is between its two events.
//
// Excludes two things. The host's enqueueing: the streams are busy during it. And waiting for ranks
// that start later: the ranks have a barrier on the device just before the first event.
class LaunchTimer {
public:
  // All must outlive the object.
  LaunchTimer(backend::Backend& backend, CommunicatorCache& communicators,
              const BoundSchedule& schedule, const std::vector<LocalRankState>& local_ranks);

  // Around the enqueueing of one launch, on all ranks. The first launch shows how long enqueueing
  // takes here, so it belongs to the warm-up.
  void begin(int tries_before = 0);
  // True if the streams were busy all the time. Otherwise the time includes some of the host's, on
  // all ranks, because the others wait for this one.
  bool end();
  // Call it when the streams are idle again. 0 for a local rank without work in the timed region.
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
