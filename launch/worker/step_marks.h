// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/local_rank_state.h"
#include "model/record.h"
#include "model/schedule.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::worker {

// When the device reaches each marker of a timed region, in every launch of a batch
// (TimingMode::steps). All events are created before, so a mark only costs a launch the recording
// of one.
//
// An event in a captured region is part of the graph, and every launch of the graph records it
// again. There is one, and it holds only the last launch of a batch.
class StepMarks {
public:
  // Both must outlive the object.
  StepMarks(const model::Schedule& schedule, const std::vector<LocalRankState>& local_ranks)
      : schedule_(schedule), ranks_(local_ranks), lanes_(local_ranks.size()) {}
  StepMarks(const StepMarks&) = delete;
  StepMarks& operator=(const StepMarks&) = delete;

  // One marker on one local rank.
  class Lane {
  public:
    void record(backend::Stream& on) {
      if (captured_)
        on.record(*events_.front());
      else if (*launch_ >= 0)
        on.record(*events_[*launch_]);
    }

  private:
    friend class StepMarks;
    const int* launch_ = nullptr;
    bool captured_ = false;
    std::vector<std::unique_ptr<backend::Event>> events_; // by launch of the batch
  };
  // Its address does not change. The same for every binding of the schedule.
  Lane& lane(std::size_t local_rank, int operation);

  // For one launch: on all local ranks, and on the one with the most.
  std::size_t in_process() const;
  std::size_t most_of_one_rank() const;

  // For batches of that many launches.
  void make_events(int launches);
  // The next launch; -1: not a launch of a batch.
  void enter_launch(int launch) { launch_ = launch; }
  // After a batch, when all streams are idle: adds its marks to the results, which are by local
  // rank.
  void read(int batch, int launches, std::vector<model::CellRecord>& results);

private:
  const model::Schedule& schedule_;
  const std::vector<LocalRankState>& ranks_;
  int launch_ = -1;
  std::vector<std::map<int, Lane>> lanes_; // by local rank, then operation
};

// How much of a cell is marked, the same on all ranks. An event takes host and device memory, and
// time to be created and read; a mark takes 24 bytes on its way to the run file.
inline constexpr std::size_t k_most_events = 200'000; // of one process
inline constexpr std::size_t k_most_marks = 500'000;  // of one rank in one cell
struct MarkLimits {
  int launches = 1; // in a batch
  int batches = 1;  // number of marked ones; later ones are only timed
};
// `wanted` launches per batch; the other two are the largest values of any process and any rank.
MarkLimits mark_limits(int wanted, std::size_t in_process, std::size_t of_one_rank);

// A note for readers of the marks, for CheckResult::method; empty: none.
std::string remark_on_marks(const model::Schedule& schedule, int wanted, const MarkLimits& limits,
                            int batches);

} // namespace ncclprobe::worker
