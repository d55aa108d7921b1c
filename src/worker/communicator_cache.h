// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"
#include "worker/seat_state.h"

#include <map>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// This process's members of one communicator.
struct LocalCommunicator {
  std::vector<int> ranks;         // global ranks, all of them
  std::vector<std::size_t> seats; // indexes of the seats that are members
  std::vector<std::unique_ptr<backend::Communicator>> members; // one per entry of `seats`
};

// The communicators of a trial: each is made once, when first asked for, by all its ranks, and
// shared by all cells.
class CommunicatorCache {
public:
  // All arguments outlive the object.
  CommunicatorCache(backend::Backend& backend, const std::vector<SeatState>& seats, int world_size,
                    backend::Rendezvous& rendezvous);

  LocalCommunicator& world();
  // In the order of schedule.communicators.
  std::vector<LocalCommunicator*> of(const model::Schedule& schedule);

  // Largest value over all ranks of the trial; nobody returns before all have called.
  double agree_on_largest(double value);

private:
  LocalCommunicator& connected(const std::vector<int>& ranks);

  backend::Backend& backend_;
  const std::vector<SeatState>& seats_;
  int world_size_;
  backend::Rendezvous& rendezvous_;
  std::map<std::vector<int>, LocalCommunicator> by_ranks_; // global ranks
};

} // namespace ncclprobe::worker
