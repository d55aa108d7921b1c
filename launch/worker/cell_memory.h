// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/communicator_cache.h"
#include "launch/worker/local_rank_state.h"
#include "model/schedule.h"

#include <map>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// Memory of this process's local ranks, kept from cell to cell and grown on demand.
class CellMemory {
public:
  explicit CellMemory(const std::vector<LocalRankState>& local_ranks); // must outlive the object

  // On the local rank's device: all kept buffers, including guard bands, but not those in host
  // memory.
  std::uint64_t held_bytes(std::size_t local_rank) const;
  // The schedule's buffers, at least as large as declared, surrounded by guard bands
  // (guard_bands.h). Throws Errc::unavailable.
  LocalBuffers make_room(const model::Schedule& schedule);
  // The same buffers, with separate slots for those named in `replaced`. Throws Errc::unavailable;
  // earlier buffers stay valid.
  LocalBuffers make_slots(const model::Schedule& schedule, const LocalBuffers& buffers,
                          const std::vector<int>& replaced);
  // At the end of a cell: frees large slots, whose memory the next cell may need.
  void drop_large_slots();

private:
  using Pool = std::map<std::pair<int, model::Memory>, std::unique_ptr<backend::Buffer>>;
  backend::Buffer& grown(std::size_t local_rank, std::vector<Pool>& pools, int index,
                         const model::BufferDecl& declared);

  const std::vector<LocalRankState>& ranks_;
  std::vector<Pool> buffers_; // by local rank
  std::vector<Pool> slots_;
};

// Registers the schedule's registered buffers with each of its communicators. Throws
// Errc::unsupported.
std::vector<std::unique_ptr<backend::Registration>>
register_buffers(const model::Schedule& schedule, const LocalBuffers& buffers,
                 const std::vector<LocalCommunicator*>& communicators);

} // namespace ncclprobe::worker
