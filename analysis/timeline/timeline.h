// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/algorithms.h"
#include "analysis/timeline/gaps.h"
#include "analysis/timeline/kernel_windows.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/message_waits.h"
#include "analysis/timeline/micro_steps.h"
#include "analysis/timeline/missing_ranks.h"
#include "analysis/timeline/phases.h"
#include "analysis/timeline/slowdown.h"
#include "analysis/timeline/stragglers.h"
#include "analysis/timeline/time_parts.h"

// The contents of a trace, over all ranks. Formulas: docs/method.md, "The timeline".
namespace ncclprobe::analysis::timeline {

// Sums over steps.
struct PartsSum {
  TimeParts parts;
  std::uint64_t steps = 0;
  IdleParts idle;                       // of steps whose kernels were recorded in windows
  std::uint64_t steps_with_kernels = 0; // all of these or none are in `steps`
  // Possible error of exposed_wait, from the clocks; exposed_transfer has the opposite error.
  double wait_error_ns = 0;
  Thinned lengths_ns; // of steps
  void add(const PartsSum& other);
};

struct RankTimeline {
  int rank = 0;
  std::uint64_t kernels = 0;
  std::uint64_t copies = 0;
  std::uint64_t without_times = 0; // omitted
  std::uint64_t nccl_operations = 0;
  bool from_nccl = false;  // no kernels were traced, only NCCL's reports
  std::uint64_t heard = 0; // Activities::heard
  bool clock_known = true; // relative to the first rank's host
  ByCell<PartsSum> cells;
  std::uint64_t steps_of_cells() const; // 0: the trace has none
  ByCell<std::vector<StreamParts>> streams;
  ByCell<Gaps> gaps;
  ByCell<Phases> phases;
  ByCell<MicroStepCounts> micro_steps; // steps that show theirs
  JoinCounts joins;
  // Communication in steps, and the part with a known wait.
  std::uint64_t communications = 0;
  std::uint64_t matched = 0;
  RankMessages messages;
  struct Step {
    StepKey key;
    std::int64_t start_ns = 0; // rank's clock
    TimeParts parts;
  };
  std::vector<Step> steps; // if requested
};
NCCLPROBE_FIELDS(RankTimeline, rank, kernels, copies, without_times, nccl_operations, from_nccl,
                 clock_known, communications, matched)

struct Timeline {
  std::vector<RankTimeline> ranks;
  std::vector<std::string> texts;
  Clocks clocks;
  Ledger ledger;
  JoinCounts joins;
  ByCell<Gaps> gaps;
  PhysicsCheck physics;          // of collectives
  ByCell<Stragglers> stragglers; // of collectives
  MessageWaits messages;         // of sends and receives
  std::vector<Slowdown> slowdowns;
  NcclChoices choices;
  std::vector<MissingRanks> missing;
  // Nobody is called late then, and the time of waits counts as transfer.
  bool clocks_are_wrong() const {
    return physics.clocks_are_wrong() || messages.all.physics.clocks_are_wrong();
  }
};

// One rank's trace in order, while it is held (rank_reading.h).
struct RankReading;
using ObserveRank =
    std::function<void(std::size_t rank_index, const RankReading&, const Clocks::OfRank&)>;

struct TimelineOptions {
  unsigned threads = 2;
  bool keep_steps = false; // memory then grows with steps x ranks
  // Only figures of these; empty: all. Relations between ranks are computed anyway.
  std::vector<int> ranks;
  // Called once for each rank, from several threads at once; empty: nobody looks.
  ObserveRank observe = {};
};

// Reads each rank twice. It holds the events of as many ranks as there are threads, and only sums
// of the others. Errors are those of the source.
base::Result<Timeline> analyse(const TraceSource& source, const TimelineOptions& options = {});

} // namespace ncclprobe::analysis::timeline
