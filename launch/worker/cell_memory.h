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
  explicit CellMemory(const std::vector<LocalRankState>& local_ranks); // outlives the object

  // Of the local rank's device: all buffers that are kept, guard bands included, not those in the
  // host's memory.
  std::uint64_t held_bytes(std::size_t local_rank) const;
  // The schedule's buffers, at least as large as it declares them, and guard bands (guard_bands.h)
  // around that. Throws Errc::unavailable.
  LocalBuffers make_room(const model::Schedule& schedule);
  // The same buffers, but slots of their own in place of those named in `replaced`. Throws
  // Errc::unavailable; what was handed out before stays.
  LocalBuffers make_slots(const model::Schedule& schedule, const LocalBuffers& buffers,
                          const std::vector<int>& replaced);
  // At the end of a cell: large slots go, so that they are not missing in the next.
  void drop_large_slots();

private:
  using Pool = std::map<std::pair<int, model::Memory>, std::unique_ptr<backend::Buffer>>;
  backend::Buffer& grown(std::size_t local_rank, std::vector<Pool>& pools, int index,
                         const model::BufferDecl& declared);

  const std::vector<LocalRankState>& ranks_;
  std::vector<Pool> buffers_; // by local rank
  std::vector<Pool> slots_;
};

// Registers the buffers that the schedule wants registered with each of its communicators. Throws
// Errc::unsupported.
std::vector<std::unique_ptr<backend::Registration>>
register_buffers(const model::Schedule& schedule, const LocalBuffers& buffers,
                 const std::vector<LocalCommunicator*>& communicators);

} // namespace ncclprobe::worker
