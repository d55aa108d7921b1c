// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/communicator_cache.h"

#include "plugin/profiler/tracing.h"

#include "workload/schedule_rules.h"

#include <algorithm>

namespace ncclprobe::worker {

CommunicatorCache::CommunicatorCache(backend::Backend& backend,
                                     const std::vector<LocalRankState>& local_ranks, int world_size,
                                     backend::Rendezvous& rendezvous)
    : backend_(backend), ranks_(local_ranks), world_size_(world_size), rendezvous_(rendezvous) {}

// Its rank is -1 if it is not among these.
backend::Member CommunicatorCache::member(std::size_t local_rank,
                                          const std::vector<int>& ranks) const {
  auto at = std::ranges::find(ranks, ranks_[local_rank].rank);
  int rank = at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
  return {ranks_[local_rank].rank, rank, ranks_[local_rank].device};
}

LocalCommunicator& CommunicatorCache::made(const CommunicatorKey& key, LocalCommunicator* parent) {
  auto found = all_.find(key);
  if (found != all_.end())
    return found->second;
  LocalCommunicator local;
  local.ranks = key.ranks;
  std::vector<backend::Member> members;
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
    backend::Member one = member(local_rank, key.ranks);
    if (one.rank < 0)
      continue;
    members.push_back(one);
    local.local_ranks.push_back(local_rank);
  }
  std::string name = fmt::format("communicator {}", all_.size());
  plugin::set_members(key.ranks); // the communicator whose events NCCL reports in a trace
  if (parent != nullptr) {
    std::vector<backend::SplitMember> of_parent;
    for (std::size_t i = 0; i < parent->local_ranks.size(); ++i)
      of_parent.push_back({parent->members[i].get(), member(parent->local_ranks[i], key.ranks)});
    if (!of_parent.empty())
      local.members = backend_.split(name, key.ranks, of_parent, rendezvous_);
  } else if (!members.empty()) {
    local.members = backend_.connect(name, key.ranks, members, rendezvous_);
  }
  return all_.emplace(key, std::move(local)).first->second;
}

CommunicatorKey CommunicatorCache::key_of(const model::Schedule& schedule, int index) const {
  auto without_ordinal = [&](int which) {
    const auto& declared = schedule.communicators[which];
    CommunicatorKey key{workload::members_of(declared, world_size_), {}, 0};
    if (declared.parent >= 0)
      key.parent = workload::members_of(schedule.communicators[declared.parent], world_size_);
    return key;
  };
  CommunicatorKey key = without_ordinal(index);
  int ordinal = 0;
  for (int earlier = 0; earlier < index; ++earlier)
    ordinal += without_ordinal(earlier) == key ? 1 : 0;
  key.ordinal = ordinal;
  return key;
}

LocalCommunicator& CommunicatorCache::world() {
  return made({workload::members_of({}, world_size_), {}, 0}, nullptr);
}

std::vector<LocalCommunicator*> CommunicatorCache::of(const model::Schedule& schedule) {
  std::vector<LocalCommunicator*> locals;
  for (std::size_t i = 0; i < schedule.communicators.size(); ++i) {
    int parent = schedule.communicators[i].parent;
    locals.push_back(
        &made(key_of(schedule, static_cast<int>(i)), parent < 0 ? nullptr : locals.at(parent)));
  }
  return locals;
}

std::vector<backend::Communicator*> CommunicatorCache::world_members() {
  std::vector<backend::Communicator*> members;
  for (auto& member : world().members)
    members.push_back(member.get());
  return members;
}

bool CommunicatorCache::connected() const {
  return !all_.empty() || static_cast<int>(ranks_.size()) < world_size_;
}

void CommunicatorCache::align(std::span<backend::Stream* const> streams) {
  if (connected())
    return backend_.align(world_members(), streams);
  // All streams belong to this process: they wait for the first.
  backend::Event* gate = nullptr;
  for (std::size_t local_rank = 0; local_rank < streams.size(); ++local_rank) {
    if (streams[local_rank] == nullptr)
      continue;
    if (gate != nullptr) {
      streams[local_rank]->wait(*gate);
      continue;
    }
    auto& own = gates_[local_rank];
    if (!own)
      own = ranks_[local_rank].device->create_event(backend::EventUse::order);
    gate = own.get();
    streams[local_rank]->record(*gate);
  }
}

double CommunicatorCache::all_reduce_max(double value) {
  return connected() ? backend_.max_over_ranks(world_members(), value) : value;
}

} // namespace ncclprobe::worker
