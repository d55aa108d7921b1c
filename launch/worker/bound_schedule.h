// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/communicator_cache.h"
#include "launch/worker/local_rank_state.h"
#include "launch/worker/shared_buffers.h"
#include "launch/worker/step_marks.h"
#include "launch/worker/trace_recorder.h"

#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace ncclprobe::worker {

// A schedule bound to this process's buffers, streams and communicators, so repeated launches
// look nothing up.
class BoundSchedule {
public:
  // All arguments must outlive the object. `communicators` follows schedule.communicators. `marks`
  // may be null: then markers of the timed region are not timed.
  BoundSchedule(const model::Schedule& schedule, backend::Backend& backend,
                std::vector<LocalRankState>& local_ranks, const LocalBuffers& buffers,
                const std::vector<LocalCommunicator*>& communicators, SharedBuffers& shared,
                TraceRecorder& trace, StepMarks* marks = nullptr);

  // Captures the region that the schedule names, if any; later runs replay it. Run the schedule
  // before, so all connections exist. Throws Errc::unsupported.
  void capture();

  void launch(const model::Region& region);
  // The library's own estimate of the region's duration, without launching it. Nothing if there is
  // no estimate, or if the region is not one collective: for several, NCCL reports the last one's
  // time.
  std::optional<double> estimate_us(const model::Region& region) const;
  // Operations before and after the timed region.
  void launch_before();
  void launch_after();

  // Streams of a local rank on which the timed region puts work.
  std::vector<backend::Stream*> timed_streams(std::size_t local_rank) const;

  // Waits until every stream is idle. Calls `on_rank_done(local_rank)` as soon as all streams of
  // that local rank are. Throws an error that occurred in a stream or communicator.
  void wait(const std::function<void(std::size_t)>& on_rank_done = {});

private:
  using Step = std::function<void()>;
  struct Launch {
    Step step;
    bool needs_group =
        false; // several local ranks take part: one NCCL group, otherwise they would deadlock
  };

  void bind(const model::Operation& operation);
  void bind(const model::CopyOp& copy);
  void bind(const model::ChaseOp& chase);
  // A slice of any rank's buffer, in a local rank's address space.
  backend::Place reach(std::size_t local_rank, int global_rank, const model::Slice& slice);
  template <typename Op, typename Enqueue>
  void bind_communication(const model::Operation&, const Op&, Enqueue);
  backend::Stream& stream(std::size_t local_rank, int index);
  backend::Stream& used_stream(std::size_t local_rank, int index);
  backend::Event& event(std::size_t local_rank, int index);
  std::size_t local_rank_of(int global_rank) const; // k_nobody if another process drives it
  bool takes_part(const model::Operation& operation, int global_rank) const;

  const model::Schedule& schedule_;
  backend::Backend& backend_;
  std::vector<LocalRankState>& ranks_;
  const LocalBuffers& buffers_;
  const std::vector<LocalCommunicator*>& communicators_;
  SharedBuffers& shared_;
  TraceRecorder& trace_;
  StepMarks* marks_;
  std::vector<std::vector<Launch>> launches_; // by operation
  std::vector<OperationNote> notes_;          // by operation
  bool in_group_ = false;
  bool binding_timed_ = false;
  std::vector<std::set<backend::Stream*>> timed_streams_; // by local rank
  std::unique_ptr<backend::Graph> graph_;
  model::Region captured_{-1, -1}; // operations that the graph replaces
};

} // namespace ncclprobe::worker
