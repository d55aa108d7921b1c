// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/step_marks/step_marks.h"
#include "analysis/timeline/time_parts.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

// From stretches to figures, by the formulas of docs/method.md ("Steps"). Marks have no common
// clock, so waits of a communication stretch follow from durations: ranks that end together have
// waited for the time by which they exceed the fastest of them. The same holds for the two sides of
// a message: the one that came first has waited for the other.
namespace ncclprobe::analysis::steps {

// How a step's time was spent, ns. compute + exposed wait + exposed transfer + exposed copy + idle
// = step, and forward + backward + optimizer + prepare = compute.
struct StepTimes {
  double step_ns = 0;
  double forward_ns = 0;
  double backward_ns = 0;
  double optimizer_ns = 0;
  double prepare_ns = 0;
  double compute_ns = 0;       // |K|
  double communication_ns = 0; // |C|
  double hidden_ns = 0;        // |C and K|
  double exposed_wait_ns = 0;  // C without K, waiting for other ranks
  double exposed_transfer_ns = 0;
  double exposed_copy_ns = 0; // input is copied from the host, without C and K
  double idle_ns = 0;
  double transfer_ns = 0; // part of C in which anything is transferred, hidden or not
  double copy_ns = 0;     // time in which input is copied, hidden or not

  double exposed_ns() const { return exposed_wait_ns + exposed_transfer_ns; }
  StepTimes& operator+=(const StepTimes& other);
  StepTimes& operator*=(double factor);
  bool operator==(const StepTimes&) const = default;
};

// Of the model itself, without work that only prepares its communication.
inline double computing_ns(const StepTimes& times) {
  return times.compute_ns - times.prepare_ns;
}

// One step on one rank.
struct RankStepTimes {
  int rank = 0;
  int batch = 0;
  int iteration = 0;
  StepTimes times;
};
std::vector<RankStepTimes> step_times(const CellSteps& cell);

// One communication stretch: medians over steps and ranks, ns since the step's start.
struct BucketTimes {
  std::string label;
  std::vector<int> ranks; // that have it
  double ready_ns = 0;    // its data is ready: the last of the stretches that it waits for ends
  double begin_ns = 0;
  double end_ns = 0;
  double transfer_ns = 0;  // duration without waiting: median over steps and ranks
  bool wait_known = false; // otherwise all of it counts as transfer
  bool operator==(const BucketTimes&) const = default;
};
std::vector<BucketTimes> bucket_times(const CellSteps& cell);

// A cell in one process. Its step time is the median over batches of the mean over ranks and steps;
// its parts are the mean shares of that time over all steps and ranks, so they add up.
struct StepFigures {
  StepTimes times;
  // The part of exposed_wait_ns that differs between ranks: mean over ranks of each one's mean
  // wait, minus the smallest of them. 0 if ranks exchange messages: bubbles of a pipeline differ by
  // design.
  double stragglers_ns = 0;
  std::map<int, StepTimes> ranks; // by global rank: mean over steps
  std::vector<BucketTimes> buckets;
  std::size_t steps = 0; // of each rank
  std::size_t steps_per_launch = 1;
  std::size_t unmatched_messages = 0; // of a step: sends and receives without their other side
};
// Errors: those of read_steps; not_found without marks.
Result<StepFigures> step_figures(const model::Schedule& schedule, int world_size,
                                 const std::vector<model::Mark>& marks);

} // namespace ncclprobe::analysis::steps
