// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/launch_timer.h"

#include <algorithm>

namespace ncclprobe::worker {
namespace {

// Enqueueing takes now this long, now that; a hold that ends too early would let it into the time.
constexpr std::int64_t k_holds_per_enqueue = 3;
constexpr std::int64_t k_shortest_hold_ns = 20'000;
constexpr std::int64_t k_longest_hold_ns = 2'000'000; // the host waited for something else

} // namespace

LaunchTimer::LaunchTimer(const BoundSchedule& schedule, const std::vector<SeatState>& seats,
                         std::int64_t enqueue_ns)
    : seats_(seats), lanes_(seats.size()),
      hold_ns_(static_cast<std::uint64_t>(
          std::clamp(k_holds_per_enqueue * enqueue_ns, k_shortest_hold_ns, k_longest_hold_ns))) {
  for (std::size_t seat = 0; seat < seats.size(); ++seat)
    for (backend::Stream* stream : schedule.timed_streams(seat))
      lanes_[seat].push_back({stream, seats[seat].device->create_event(backend::EventUse::time),
                              seats[seat].device->create_event(backend::EventUse::time)});
}

void LaunchTimer::begin() {
  for (auto& of_seat : lanes_)
    for (Lane& lane : of_seat) {
      lane.stream->spin(hold_ns_);
      lane.stream->record(*lane.begin);
    }
}

void LaunchTimer::end() {
  for (auto& of_seat : lanes_)
    for (Lane& lane : of_seat)
      lane.stream->record(*lane.end);
}

std::int64_t LaunchTimer::elapsed_ns(std::size_t seat) const {
  const std::vector<Lane>& lanes = lanes_[seat];
  if (lanes.empty())
    return 0;
  backend::Device& device = *seats_[seat].device;
  std::int64_t first_ns = 0; // both since the first lane began
  std::int64_t last_ns = 0;
  for (const Lane& lane : lanes) {
    if (&lane != &lanes.front())
      first_ns = std::min(first_ns, device.elapsed_ns(*lanes.front().begin, *lane.begin));
    last_ns = std::max(last_ns, device.elapsed_ns(*lanes.front().begin, *lane.end));
  }
  return last_ns - first_ns;
}

} // namespace ncclprobe::worker
