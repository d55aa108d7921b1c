// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/local_rank_state.h"
#include "model/schedule.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ncclprobe::worker {

// Buffers of other processes (model::Memory::shared), mapped when a local rank first needs them and
// kept from cell to cell.
class SharedBuffers {
public:
  // All must outlive the object.
  SharedBuffers(const std::vector<LocalRankState>& local_ranks, int world_size,
                backend::Rendezvous& rendezvous);

  // All ranks exchange the handles of this schedule's shared buffers. All of them call it with the
  // same schedules in the same order; they communicate only if some buffer is new or has grown.
  // Throws Errc::unsupported.
  void exchange(const model::Schedule& schedule, const LocalBuffers& own);

  // Mapped for that local rank's device. Throws Errc::unsupported if the rank shares no such
  // buffer.
  backend::Buffer& of(std::size_t local_rank, int rank, int index);

private:
  struct Offer {
    std::string handle;
    std::uint64_t bytes = 0;
  };
  bool grows(int index, const model::BufferDecl& declared);
  void exchange(int index, const LocalBuffers& own);

  const std::vector<LocalRankState>& ranks_;
  int world_size_;
  backend::Rendezvous& rendezvous_;
  int exchanges_ = 0;
  std::map<int, std::vector<std::uint64_t>> largest_bytes_; // by buffer, then rank
  std::map<int, std::vector<Offer>> offers_;                // by buffer, then rank
  // By local rank, rank and handle.
  std::map<std::tuple<std::size_t, int, std::string>, std::unique_ptr<backend::Buffer>> mapped_;
};

} // namespace ncclprobe::worker
