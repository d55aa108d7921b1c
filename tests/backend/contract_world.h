// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/contract.h"
#include "support/local_rendezvous.h"

#include <memory>
#include <vector>

namespace ncclprobe::contract {

// One backend with n ranks in this process, a world communicator, and streams for all.
class World {
public:
  World(const ContractSubject&, int ranks);
  ~World();

  backend::Backend& backend() { return *backend_; }
  int ranks() const { return static_cast<int>(devices_.size()); }
  backend::Device& device(int rank) { return *devices_[static_cast<std::size_t>(rank)]; }
  backend::Communicator& communicator(int rank) { return *world_[static_cast<std::size_t>(rank)]; }
  // Opened on first use, for all ranks, in the order of their indexes.
  backend::Stream& stream(int rank, int index = 0);

  // A communicator of some ranks, in that order.
  std::vector<std::unique_ptr<backend::Communicator>> connect(const std::string& key,
                                                              const std::vector<int>& ranks);

  // One split off the world.
  std::vector<std::unique_ptr<backend::Communicator>> split(const std::string& key,
                                                            const std::vector<int>& ranks);

  // act(rank) for all ranks within one group: a single thread drives them all.
  template <typename Act>
  void on_all_ranks(Act act) {
    backend_->group_begin();
    for (int rank = 0; rank < ranks(); ++rank)
      act(rank);
    backend_->group_end();
  }
  // Until all streams are idle; fails the test after half a minute.
  void wait();
  static void wait(backend::Stream&);

private:
  support::LocalRendezvous rendezvous_;
  std::unique_ptr<backend::Backend> backend_;
  std::vector<std::unique_ptr<backend::Device>> devices_;
  std::vector<std::vector<std::unique_ptr<backend::Stream>>> streams_; // by index, then rank
  std::vector<std::unique_ptr<backend::Communicator>> world_;
};

} // namespace ncclprobe::contract
