// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/delay_origins.h"

#include <algorithm>

namespace ncclprobe::analysis::job {
namespace {

DelayCause cause_of(GapCause cause) {
  switch (cause) {
  case GapCause::computing:
    return DelayCause::computing;
  case GapCause::copies:
    return DelayCause::copies;
  case GapCause::input:
    return DelayCause::input;
  case GapCause::host:
    return DelayCause::host;
  }
  return DelayCause::host;
}

} // namespace

DelayOrigins::Origin DelayOrigins::of(std::uint32_t run, const MeasuredOperation& measured,
                                      const PathPart& part, const AlikeTransfers& alike) const {
  const GraphOperation& own = graph_.runs[run].ranks[part.rank][part.operation];
  if (part.cause == PathCause::transfer)
    return {{alike.cause(part.rank, part.operation), -1, static_cast<int>(own.communicator)},
            CauseSeenBy::times,
            -1};
  Origin out{{DelayCause::computing, graph_.ranks[part.rank], -1}, CauseSeenBy::launches, -1};
  if (const auto shown = gaps_.cause(part.rank, own, measured)) {
    out.origin.cause = cause_of(*shown);
    out.seen_by = CauseSeenBy::kernels;
  } else if (part.cause == PathCause::host) {
    const bool loads = hosts_.loads_longer(run, part.rank, part.operation);
    out.origin.cause = loads ? DelayCause::input : DelayCause::host;
    out.seen_by = loads ? CauseSeenBy::ranges : CauseSeenBy::launches;
  }
  const bool is_host =
      out.origin.cause == DelayCause::host || out.origin.cause == DelayCause::input;
  out.phase = is_host ? hosts_.of_late_host(run, part.rank, part.operation)
                      : hosts_.of_launches(run, part.rank, part.operation);
  return out;
}

DelayOrigins::Division DelayOrigins::divided(std::uint32_t run, const MeasuredOperation& measured,
                                             const PathPart& part) const {
  const GraphOperation& own = graph_.runs[run].ranks[part.rank][part.operation];
  // What the GPU would have needed all the same is no delay of the host.
  const double late_ns =
      part.cause == PathCause::host ? host_late_ns(model_.typical, own, measured) : 0;
  GapCauses::Division by_kernels =
      gaps_.divided(part.rank, own, measured, static_cast<double>(part.length_ns), late_ns);
  Division out{by_kernels.parts, by_kernels.late_ns};
  const double loading_ns =
      std::min(out.late_ns, hosts_.loading_ns(run, part.rank, part.operation));
  out.parts[static_cast<std::size_t>(GapCause::input)] += loading_ns;
  out.late_ns -= loading_ns;
  return out;
}

} // namespace ncclprobe::analysis::job
