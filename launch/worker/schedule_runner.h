// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "launch/worker/cell_run.h"
#include "launch/worker/trace_recorder.h"

#include <memory>
#include <vector>

namespace ncclprobe::worker {

// A global rank that this process drives.
struct LocalRank {
  int rank = 0;
  std::unique_ptr<backend::Device> device;
};

// Executes schedules on a backend. Communicators, streams, events and buffers live as long as the
// runner and are shared by its cells.
//
// run() measures one cell: fill inputs, warm up, agree with all ranks on the effort, time batches
// or launches until the stopping rule is satisfied, and check data as CheckMethod says. What the
// backend cannot do (Errc::unsupported, Errc::unavailable while preparing) makes the cell skipped
// on all ranks alike; every other error, and a communicator that cannot be made, is thrown and ends
// the process.
class ScheduleRunner {
public:
  ScheduleRunner(backend::Backend& backend, std::vector<LocalRank> local_ranks, int world_size,
                 std::uint64_t seed, backend::Rendezvous& rendezvous, ProgressBoard& board,
                 TraceRecorder& trace);
  ~ScheduleRunner();
  ScheduleRunner(const ScheduleRunner&) = delete;
  ScheduleRunner& operator=(const ScheduleRunner&) = delete;

  // Makes the world communicator. The first thing that needs all ranks. Not needed if this process
  // drives all of them and the cells' schedules declare no communicator.
  void connect_world();

  // Results in the order of the local ranks. `estimate_us`: gets what the library itself expects
  // one launch to take, if it can tell; null: it is not asked.
  std::vector<model::CellRecord> run(const model::Cell& cell,
                                     std::optional<double>* estimate_us = nullptr);

  // Of the local rank's device: what the buffers take that are kept from cell to cell.
  std::uint64_t buffer_bytes(std::size_t local_rank) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace ncclprobe::worker
