// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/communicator_cache.h"

#include "workload/schedule_rules.h"

#include <algorithm>

namespace ncclprobe::worker {

CommunicatorCache::CommunicatorCache(backend::Backend& backend, const std::vector<SeatState>& seats,
                                     int world_size, backend::Rendezvous& rendezvous)
    : backend_(backend), seats_(seats), world_size_(world_size), rendezvous_(rendezvous) {}

LocalCommunicator& CommunicatorCache::connected(const std::vector<int>& ranks) {
  auto found = by_ranks_.find(ranks);
  if (found != by_ranks_.end())
    return found->second;
  LocalCommunicator local;
  local.ranks = ranks;
  std::vector<backend::Member> members;
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    auto at = std::find(ranks.begin(), ranks.end(), seats_[seat].rank);
    if (at == ranks.end())
      continue;
    members.push_back(
        {seats_[seat].rank, static_cast<int>(at - ranks.begin()), seats_[seat].device});
    local.seats.push_back(seat);
  }
  std::string key = fmt::format("communicator {}", by_ranks_.size());
  if (!members.empty())
    local.members = backend_.connect(key, ranks, members, rendezvous_);
  return by_ranks_.emplace(ranks, std::move(local)).first->second;
}

LocalCommunicator& CommunicatorCache::world() {
  return connected(workload::members_of({}, world_size_));
}

std::vector<LocalCommunicator*> CommunicatorCache::of(const model::Schedule& schedule) {
  std::vector<LocalCommunicator*> locals;
  for (const model::CommunicatorDecl& declared : schedule.communicators)
    locals.push_back(&connected(workload::members_of(declared, world_size_)));
  return locals;
}

double CommunicatorCache::agree_on_largest(double value) {
  std::vector<backend::Communicator*> members;
  for (auto& member : world().members)
    members.push_back(member.get());
  return backend_.max_over_ranks(members, value);
}

} // namespace ncclprobe::worker
