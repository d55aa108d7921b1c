// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/channel_times.h"
#include "analysis/timeline/collectives.h"
#include "analysis/timeline/messages.h"
#include "analysis/timeline/nccl_join.h"

namespace ncclprobe::analysis::timeline {

// One rank's trace, put in order.
struct RankReading {
  RankTrace trace;
  std::uint64_t overwritten; // of its channels
  OperationIndex operations;
  NcclTimes nccl_times;
  Activities activities;
  Joined joined;
  std::vector<CollectivePart> parts;
  MessageHalves halves;

  RankReading(RankTrace trace_, int rank, const Clocks::OfRank& clock, const TextTraits& traits,
              const TraceSource& source, Pass pass)
      : trace(std::move(trace_)),
        overwritten(forget_overwritten(trace.nccl_operations, trace.nccl_channels)),
        operations(trace.operations), nccl_times(timeline::nccl_times(trace, clock.gpu)),
        activities(activities_of(trace, operations, nccl_times, pass)),
        joined(join_nccl(trace, nccl_times, clock.gpu ? clock.gpu->error_ns : 0, activities)),
        parts(collective_parts(trace, activities, operations, traits, source)),
        halves(message_halves(trace, rank, activities, joined, operations, traits, source)) {
    joined.counts.channels_overwritten = trace.channels_overwritten + overwritten;
  }
  RankReading(const RankReading&) = delete; // operations refers to trace
};

} // namespace ncclprobe::analysis::timeline
