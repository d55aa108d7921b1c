// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/channel_times.h"
#include "analysis/timeline/collectives.h"
#include "analysis/timeline/messages.h"
#include "analysis/timeline/nccl_join.h"

#include <algorithm>

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
        joined(join_nccl(trace, nccl_times, gpu_error_ns(clock), activities)),
        parts(collective_parts(trace, activities, operations, traits, source)),
        halves(message_halves(trace, rank, activities, joined, operations, traits, source)) {
    joined.counts.channels_overwritten = trace.channels_overwritten + overwritten;
  }
  RankReading(const RankReading&) = delete; // operations refers to trace

  // On the GPU's clock, of NCCL's channels; begin > end if the GPU reported nothing.
  Span gpu_extent() const {
    Span span{INT64_MAX, INT64_MIN};
    for (const trace::NcclChannelRow& row : trace.nccl_channels)
      for (std::uint64_t at_ns : {row.start_gt, row.stop_gt})
        if (at_ns != 0) {
          span.begin = std::min(span.begin, static_cast<std::int64_t>(at_ns));
          span.end = std::max(span.end, static_cast<std::int64_t>(at_ns));
        }
    return span;
  }

private:
  double gpu_error_ns(const Clocks::OfRank& clock) const {
    const Span use = gpu_extent();
    return clock.gpu && use.begin <= use.end
               ? clock.gpu->worst_error_ns(static_cast<std::uint64_t>(use.begin),
                                           static_cast<std::uint64_t>(use.end))
               : 0;
  }
};

} // namespace ncclprobe::analysis::timeline
