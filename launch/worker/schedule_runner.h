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
// runner, and its cells share them.
//
// run() measures one cell. It fills inputs, warms up, and agrees with all ranks on the effort. Then
// it times batches or launches until the stopping rule is satisfied, and checks data as CheckMethod
// says. If the backend cannot run the cell (Errc::unsupported, or Errc::unavailable while
// preparing), all ranks skip it. Every other error, and a communicator that cannot be created, is
// thrown and ends the process.
class ScheduleRunner {
public:
  ScheduleRunner(backend::Backend& backend, std::vector<LocalRank> local_ranks, int world_size,
                 std::uint64_t seed, backend::Rendezvous& rendezvous, ProgressBoard& board,
                 TraceRecorder& trace);
  ~ScheduleRunner();
  ScheduleRunner(const ScheduleRunner&) = delete;
  ScheduleRunner& operator=(const ScheduleRunner&) = delete;

  // Creates the world communicator. The first call that needs all ranks. Not needed if this process
  // drives all of them and the cells' schedules declare no communicator.
  void connect_world();

  // Results in the order of the local ranks. `estimate_us` gets the library's own estimate for one
  // launch, if it has one; null: do not ask.
  std::vector<model::CellRecord> run(const model::Cell& cell,
                                     std::optional<double>* estimate_us = nullptr);

  // On the local rank's device: memory of the buffers that are kept from cell to cell.
  std::uint64_t buffer_bytes(std::size_t local_rank) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace ncclprobe::worker
