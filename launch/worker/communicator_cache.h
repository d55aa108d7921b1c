// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/local_rank_state.h"
#include "model/schedule.h"

#include <map>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// This process's members of one communicator.
struct LocalCommunicator {
  std::vector<int> ranks;               // global ranks, all of them
  std::vector<std::size_t> local_ranks; // indexes of the local ranks that are members
  std::vector<std::unique_ptr<backend::Communicator>> members; // one per entry of `local_ranks`
};

// How a communicator is created. Cells share communicators with equal keys.
struct CommunicatorKey {
  std::vector<int> ranks;  // global, in order
  std::vector<int> parent; // ranks of its parent; empty: created without a parent
  int ordinal = 0;         // index among those of a schedule with otherwise equal keys
  auto operator<=>(const CommunicatorKey&) const = default;
};

// The communicators of a trial: all its ranks create each at its first use, and all cells share it.
class CommunicatorCache {
public:
  // All arguments must outlive the object.
  CommunicatorCache(backend::Backend& backend, const std::vector<LocalRankState>& local_ranks,
                    int world_size, backend::Rendezvous& rendezvous);

  // False if nothing needs a communicator: this process drives all ranks of the trial, and world()
  // was never called. Then there is no other process to agree with.
  bool connected() const;
  LocalCommunicator& world();
  // In the order of schedule.communicators.
  std::vector<LocalCommunicator*> of(const model::Schedule& schedule);

  // Work that is enqueued after this begins at about the same time on all ranks of the trial. One
  // stream per local rank, null for one without work to align.
  void align(std::span<backend::Stream* const> streams);
  // Largest value over all ranks of the trial; returns only after all have called.
  double all_reduce_max(double value);

private:
  std::vector<backend::Communicator*> world_members();
  LocalCommunicator& made(const CommunicatorKey& key, LocalCommunicator* parent);
  CommunicatorKey key_of(const model::Schedule& schedule, int index) const;
  backend::Member member(std::size_t local_rank, const std::vector<int>& ranks) const;

  backend::Backend& backend_;
  const std::vector<LocalRankState>& ranks_;
  int world_size_;
  backend::Rendezvous& rendezvous_;
  std::map<CommunicatorKey, LocalCommunicator> all_;
  std::map<std::size_t, std::unique_ptr<backend::Event>> gates_; // by local rank
};

} // namespace ncclprobe::worker
