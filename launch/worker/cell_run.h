// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/bound_schedule.h"
#include "launch/worker/data_check.h"
#include "launch/worker/launch_timer.h"
#include "launch/worker/progress_board.h"
#include "launch/worker/stopping_rule.h"
#include "launch/worker/trace_recorder.h"
#include "model/record.h"

#include <optional>
#include <vector>

namespace ncclprobe::worker {

// A schedule with its memory. Members are destroyed in reverse order: graphs before registrations.
struct Binding {
  LocalBuffers buffers;
  std::vector<std::unique_ptr<backend::Registration>> registrations;
  std::optional<BoundSchedule> bound;
};

// The parts of a runnable cell. All must outlive its CellRun.
struct CellParts {
  backend::Backend& backend;
  CommunicatorCache& communicators;
  const std::vector<LocalRankState>& local_ranks;
  const model::Cell& cell;
  const CellData& data;
  Binding& main;
  ProgressBoard& board;
  TraceRecorder& trace;
  StepMarks* marks;                        // null: no steps
  std::vector<model::CellRecord>& results; // by local rank
};

// Warm-up and timed part of one cell. All ranks call the same functions in the same order. A
// barrier before and after every batch (in latency mode, every launch) lets them agree on
// continuing.
class CellRun {
public:
  explicit CellRun(const CellParts& parts) : parts_(parts) {}

  // Poisons everything and writes the inputs.
  void prepare();
  // One untimed run of everything; returns its time on this rank.
  double warm_up();
  double warm_up(BoundSchedule& bound);

  // Batch and steps mode. In steps mode, as in events mode, only ranks with work in the timed
  // region have samples. Runs until the stopping rule is satisfied, or data is wrong. `slot` is
  // needed only for CheckMethod::last_launch.
  void time_batches(const Effort& effort, CheckMethod method, Binding* slot);
  // Latency and events mode.
  void time_on_device(const Effort& effort, CheckMethod method);

private:
  void fill();
  void run_once(BoundSchedule& bound);
  void barrier();
  Vote agree(const std::vector<bool>& wrong);
  std::vector<bool> compare(const LocalBuffers& buffers, const std::string& launch);
  void compare_untouched(const LocalBuffers& buffers, const std::vector<int>& which);
  void compare_all_untouched();
  void time_batch(int batch, int iterations, BoundSchedule& last);
  void enter_launch(int iteration);
  MarkLimits prepare_marks(int wanted);
  std::vector<bool> check_separately(int batch);
  void poison_or_fill();
  void add_remark(const std::string& remark);
  bool time_launch(LaunchTimer& timer, int batch, int tries_before, int iterations);
  void note(std::size_t local_rank, const model::Sample& sample);

  CellParts parts_;
  int warm_ups_ = 0;
  SampleLimits limits_;
  std::int64_t start_ns_ = 0;
  int vote_every_ = 1;                        // samples
  std::int64_t launch_ns_ = 0;                // of the latest time_launch()
  std::vector<std::vector<double>> times_ns_; // of one iteration, by local rank
  std::vector<bool> looks_on_;                // has nothing to do in a step, by local rank
};

} // namespace ncclprobe::worker
