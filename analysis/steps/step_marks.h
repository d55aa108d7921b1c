// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/intervals.h"
#include "base/error.h"
#include "model/record.h"

#include <string>
#include <vector>

// From the marks of a cell to the stretches of its steps (TimingMode::steps, METHOD.md "Steps").
namespace ncclprobe::analysis::steps {

using timeline::Span;

// What lies between a begin and an end marker of the timed region.
struct StretchDecl {
  int begin = 0; // operations of the schedule
  int end = 0;
  int stream = 0;
  model::Activity activity = model::Activity::note;
  std::string label;
  std::vector<int> ranks; // global, that have it; empty: all that train
  // Stretches of other streams (StepPlan::stretches) whose end this one waits for: of each event
  // that its stream waits for since its stretch before, the one that the event stands in or behind.
  std::vector<int> ready_after;
  // Sets of global ranks whose stretches end together, as each needs data of all others. A rank in
  // none of them (sends and receives, a broadcast) cannot tell what it waited for.
  std::vector<std::vector<int>> meetings;
};

// What a step of the schedule is made of.
struct StepPlan {
  int first = 0;                      // operation of the marker "step"
  int last = 0;                       // of "step end"
  std::vector<int> ranks;             // global, that train
  std::vector<StretchDecl> stretches; // in the order of their begins
};
// Errors: invalid_argument for markers that do not follow the convention (model/schedule.h,
// MarkerEdge): no "step" or "step end", an end without its begin, stretches of one stream in each
// other.
base::Result<StepPlan> plan_of(const model::Schedule& schedule, int world_size);

struct Stretch {
  int declaration = 0; // in StepPlan::stretches
  Span span;           // ns since the rank's first mark of the batch
};

struct RankStep {
  int rank = 0; // global
  int batch = 0;
  int iteration = 0;
  Span window;                    // to the next step's begin, or to the end of a batch's last step
  std::vector<Stretch> stretches; // that this rank has, in the plan's order
};

struct CellSteps {
  StepPlan plan;
  std::vector<RankStep> steps; // by rank, batch, iteration; of every rank the same
};
// Errors: those of plan_of; protocol if a mark is missing, twice, of no marker, or before one that
// precedes it on its stream, or if ranks differ in their steps. Nothing is guessed or left out.
base::Result<CellSteps> read_steps(const model::Schedule& schedule, int world_size,
                                   const std::vector<model::Mark>& marks);

} // namespace ncclprobe::analysis::steps
