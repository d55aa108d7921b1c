// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/intervals.h"
#include "base/error.h"
#include "model/record.h"

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

// From the marks of a cell to the stretches of its steps (TimingMode::steps, docs/method.md
// "Steps").
namespace ncclprobe::analysis::steps {

using timeline::Span;

// A stretch of one rank.
struct RankStretch {
  int rank = 0;        // global
  int declaration = 0; // in StepPlan::stretches
  auto operator<=>(const RankStretch&) const = default;
};

// What a rank's sends and receives in a stretch meet: the stretches with their other sides.
struct Exchange {
  int rank = 0; // global
  std::vector<RankStretch> partners;
  // All partners exchange with each other too (two ranks always do): then they end together.
  bool ends_together = false;
};

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
  // Sets of global ranks whose stretches end together, as each needs data of all others.
  std::vector<std::vector<int>> groups;
  // By rank. A rank that is neither here nor in a group (a broadcast, messages of which one has
  // no other side, or with several ranks one after the other) cannot tell what it waited for.
  std::vector<Exchange> exchanges;
};

// What a step of the schedule is made of.
struct StepPlan {
  int first = 0;                      // operation of the marker "step"
  int last = 0;                       // of "step end"
  std::vector<int> ranks;             // global, that train
  std::vector<StretchDecl> stretches; // in the order of their begins
  std::size_t unmatched_messages = 0; // sends and receives without their other side
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
