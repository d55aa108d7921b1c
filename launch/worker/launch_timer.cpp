// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/launch_timer.h"

#include <algorithm>

namespace ncclprobe::worker {
namespace {

constexpr std::int64_t k_holds_per_enqueueing = 2;
constexpr std::int64_t k_shortest_hold_ns = 20'000;
constexpr std::int64_t k_longest_hold_ns = 2'000'000; // then the host waited for something else

} // namespace

void Hold::add_enqueueing(std::int64_t duration_ns) {
  recent_ns_[next_++ % recent_ns_.size()] = duration_ns;
}

std::int64_t Hold::duration_ns(int tries_before) const {
  std::int64_t longest = *std::ranges::max_element(recent_ns_);
  return std::clamp(k_holds_per_enqueueing * longest, k_shortest_hold_ns, k_longest_hold_ns)
         << tries_before;
}

LaunchTimer::LaunchTimer(backend::Backend& backend, CommunicatorCache& communicators,
                         const BoundSchedule& schedule,
                         const std::vector<LocalRankState>& local_ranks)
    : backend_(backend), communicators_(communicators), ranks_(local_ranks),
      lanes_(local_ranks.size()), aligned_(local_ranks.size()), first_streams_(local_ranks.size()) {
  for (std::size_t local_rank = 0; local_rank < local_ranks.size(); ++local_rank) {
    backend::Device& device = *local_ranks[local_rank].device;
    for (backend::Stream* stream : schedule.timed_streams(local_rank))
      lanes_[local_rank].push_back({stream, device.create_event(backend::EventUse::time),
                                    device.create_event(backend::EventUse::time)});
    if (!lanes_[local_rank].empty())
      first_streams_[local_rank] = lanes_[local_rank].front().stream;
    if (lanes_[local_rank].size() > 1)
      aligned_[local_rank] = device.create_event(backend::EventUse::order);
  }
}

void LaunchTimer::begin(int tries_before) {
  begun_ns_ = backend_.now_ns();
  for (backend::Stream* stream : first_streams_)
    if (stream != nullptr)
      stream->spin(static_cast<std::uint64_t>(hold_.duration_ns(tries_before)));
  communicators_.align(first_streams_);
  for (std::size_t local_rank = 0; local_rank < lanes_.size(); ++local_rank) {
    if (aligned_[local_rank])
      first_streams_[local_rank]->record(*aligned_[local_rank]);
    for (Lane& lane : lanes_[local_rank]) {
      if (lane.stream != first_streams_[local_rank])
        lane.stream->wait(*aligned_[local_rank]);
      lane.stream->record(*lane.begin);
    }
  }
}

bool LaunchTimer::end() {
  bool held = true;
  for (auto& of_local_rank : lanes_)
    for (Lane& lane : of_local_rank)
      held = !lane.begin->reached() && held;
  for (auto& of_local_rank : lanes_)
    for (Lane& lane : of_local_rank)
      lane.stream->record(*lane.end);
  hold_.add_enqueueing(backend_.now_ns() - begun_ns_);
  return held;
}

std::int64_t LaunchTimer::elapsed_ns(std::size_t local_rank) const {
  const std::vector<Lane>& lanes = lanes_[local_rank];
  if (lanes.empty())
    return 0;
  backend::Device& device = *ranks_[local_rank].device;
  std::int64_t first_ns = 0; // both relative to the start of the first lane
  std::int64_t last_ns = 0;
  for (const Lane& lane : lanes) {
    if (&lane != &lanes.front())
      first_ns = std::min(first_ns, device.elapsed_ns(*lanes.front().begin, *lane.begin));
    last_ns = std::max(last_ns, device.elapsed_ns(*lanes.front().begin, *lane.end));
  }
  return last_ns - first_ns;
}

} // namespace ncclprobe::worker
