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

// Converts the marks of a cell into the stretches of its steps (TimingMode::steps, docs/method.md
// "Steps").
namespace ncclprobe::analysis::steps {

using timeline::Span;

// A stretch of one rank.
struct RankStretch {
  int rank = 0;        // global
  int declaration = 0; // in StepPlan::stretches
  auto operator<=>(const RankStretch&) const = default;
};

// The stretches that contain the other sides of a rank's sends and receives.
struct PeerExchange {
  int rank = 0; // global
  std::vector<RankStretch> partners;
  // All partners also exchange with each other (two ranks always do): then they end together.
  bool ends_together = false;
};

// The operations between a begin and an end marker of the timed region.
struct StretchDecl {
  int step = 0;  // of StepPlan::steps
  int same = 0;  // the same stretch of the first step that has it, in StepPlan::stretches
  int begin = 0; // operations of the schedule
  int end = 0;
  int stream = 0;
  model::Activity activity = model::Activity::note;
  std::string label;
  std::vector<int> ranks; // global ranks that have it; empty: all that train
  // Stretches of other streams (StepPlan::stretches) whose end this one waits for: for each event
  // that its stream waits for since its previous stretch, the stretch that contains or precedes the
  // event.
  std::vector<int> ready_after;
  // Sets of global ranks whose stretches end together, because each needs data of all others.
  std::vector<std::vector<int>> groups;
  // By rank. A rank that is neither here nor in a group has an unknown wait: a broadcast, messages
  // without their other side, or sequential messages with several ranks.
  std::vector<PeerExchange> exchanges;
};

// The operations of the markers "step" and "step end".
struct StepBounds {
  int first = 0, last = 0;
};

// The parts of a schedule's step, or of several that one launch runs.
struct StepPlan {
  std::vector<StepBounds> steps;
  std::vector<int> ranks;             // global ranks that train
  std::vector<StretchDecl> stretches; // in the order of their begins
  std::size_t unmatched_messages = 0; // sends and receives without their other side
};
// Errors: invalid_argument for markers that violate the convention (model/schedule.h, MarkerEdge):
// no "step" or "step end", an end without its begin, nested stretches of one stream, steps of other
// ranks than the first.
Result<StepPlan> plan_of(const model::Schedule& schedule, int world_size);

struct Stretch {
  int declaration = 0; // in StepPlan::stretches
  Span span;           // ns since the rank's first mark of the batch
};

struct RankStep {
  int rank = 0; // global
  int batch = 0;
  int iteration = 0;              // steps of the batch, from 0
  Span window;                    // until the next step's start, or the end of a batch's last step
  std::vector<Stretch> stretches; // stretches of this rank, in the plan's order
};

struct CellSteps {
  StepPlan plan;
  std::vector<RankStep> steps; // by rank, batch, iteration; the same number for every rank
};
// Errors: those of plan_of; protocol if a mark is missing, duplicated, without a marker, or before
// a preceding one on its stream, or if ranks differ in their steps. Nothing is guessed or omitted.
Result<CellSteps> read_steps(const model::Schedule& schedule, int world_size,
                             const std::vector<model::Mark>& marks);

} // namespace ncclprobe::analysis::steps
