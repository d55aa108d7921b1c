// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_model.h"
#include "analysis/statistics/inference.h"

#include <cstdint>
#include <optional>
#include <vector>

// Who holds a job up: what decides how long its steps last, what exceeds the usual on that way, and
// who came last to the meetings of each communicator, and why. Formulas: docs/method.md, "Who holds
// a job up".
namespace ncclprobe::analysis::job {

// copies: memory copies on the rank's GPU. input: its host loaded input, or its GPU waited for a
// copy from the host (timeline/input_waits.h). slow_link: transfers of one communicator, or between
// two ranks, while alike ones are usual. slow_transfers: of all that are alike. transfer: nothing
// to compare with. many: no single cause.
enum class DelayCause : std::uint8_t {
  computing,
  host,
  copies,
  input,
  slow_link,
  slow_transfers,
  transfer,
  many
};

// How a cause on a rank was found. other_steps: kernels were recorded in some steps,
// and what they show of this rank is taken for the others too. launches: no kernels were recorded.
// ranges: the same, and the program's NVTX ranges show that the late host loaded input.
enum class CauseSeenBy : std::uint8_t { times, kernels, other_steps, launches, ranges };

// Where a delay began.
struct DelayOrigin {
  DelayCause cause = DelayCause::many;
  int rank = -1;         // of the job; of computing, host, copies and input
  int communicator = -1; // StepGraph::communicators; of transfers
  auto operator<=>(const DelayOrigin&) const = default;
};

struct PerStep {
  double mean_ns = 0;
  std::optional<Interval> interval; // 95%, bootstrap over blocks of steps
};

// A part of the critical path, which leads through all ranks from step to step.
struct PathShare {
  std::uint32_t kind = 0;                   // of steps
  DelayCause cause = DelayCause::computing; // or host, copies, input, transfer
  int operations = -1;                      // of transfers: StepGraph::classes
  PerStep time;
  double share = 0; // of the step
  // The rank, or the communicator, with the largest part of it.
  int most = -1;
  double most_share = 0;
};

// What exceeds the usual, where it decides about the length of steps.
struct HoldUp {
  std::uint32_t kind = 0;
  DelayOrigin origin;
  CauseSeenBy seen_by = CauseSeenBy::times;
  int phase = -1;              // HeldUp::phases, of the rank's host; -1: not known
  std::uint64_t steps = 0;     // in which it does so by more than 1% of a step
  PerStep excess;              // of the path's
  std::optional<PerStep> gain; // of a step if it were usual, by replay; for the largest ones
};

struct LateCause {
  DelayOrigin origin;
  CauseSeenBy seen_by = CauseSeenBy::times;
  int phase = -1; // as of HoldUp
  std::uint64_t times = 0;
  double delay_ns = 0; // per step
};
// A rank that came last to a communicator's meetings.
struct LateRank {
  std::uint32_t kind = 0;
  int communicator = -1;
  int rank = -1;
  std::uint64_t times = 0;
  std::uint64_t meetings = 0;    // of the communicator
  PerStep delay;                 // if it had come with the second last
  std::optional<PerStep> gain;   // of a step if its main cause were usual, by replay
  std::vector<LateCause> causes; // the main one first
};

struct HeldUp {
  std::vector<PathShare> path;      // by kind, the largest first
  std::vector<HoldUp> hold_ups;     // the same
  std::vector<LateRank> late;       // the same
  std::vector<std::uint64_t> steps; // by kind: with a known length
  std::vector<double> step_ns;      // by kind: mean length of the path
  bool kernels_recorded = false;    // in any step
  std::vector<int> loading_marked;  // ranks of the job whose NVTX ranges show when they load input
  std::vector<timeline::PhasePath> phases; // of hosts
};

// Delays of at most `error_ns`, the possible error of clocks, do not count.
HeldUp find_held_up(const StepGraph& graph, const StepModel& model, double error_ns);

} // namespace ncclprobe::analysis::job
