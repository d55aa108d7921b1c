// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/host_backend.h"
#include "launch/worker/schedule_runner.h"
#include "support/local_rendezvous.h"

#include <memory>
#include <vector>

namespace ncclprobe::support {

inline backend::Options options_for(int ranks) {
  backend::Options options;
  options.host_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  return options;
}

// A runner that drives all ranks itself, by default on the CPU backend.
class LocalRun {
public:
  LocalRun(std::unique_ptr<backend::Backend> backend, int ranks) : backend_(std::move(backend)) {
    std::vector<worker::LocalRank> local_ranks;
    for (int rank = 0; rank < ranks; ++rank)
      local_ranks.push_back({rank, backend_->open_device(rank)});
    runner_ = std::make_unique<worker::ScheduleRunner>(*backend_, std::move(local_ranks), ranks, 1,
                                                       rendezvous_, board_, trace_);
  }
  explicit LocalRun(int ranks) : LocalRun(host::make_backend(options_for(ranks)), ranks) {}

  std::vector<model::CellRecord> run(const model::Cell& cell) { return runner_->run(cell); }
  const worker::ProgressBoard& board() const { return board_; }

private:
  std::unique_ptr<backend::Backend> backend_;
  LocalRendezvous rendezvous_;
  worker::ProgressBoard board_;
  worker::TraceRecorder trace_;
  std::unique_ptr<worker::ScheduleRunner> runner_;
};

} // namespace ncclprobe::support
