// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/timeline.h"
#include "base/error.h"

#include <stdexcept>
#include <string>
#include <vector>

// Traces made by hand: times in ns, small and round.
namespace ncclprobe::analysis::timeline {

struct Times {
  std::int64_t start, end;
};

// One rank's trace, row by row.
class RankBuilder {
public:
  // The host enqueues an operation of the schedule; returns its number.
  std::uint32_t operation(StepKey step, int index = 0,
                          trace::OperationKind kind = trace::OperationKind::collective,
                          std::int64_t at_ns = 0);
  void compute(Times times, std::uint32_t operation = 0, int stream = 0, std::uint32_t name = 1);
  void communicate(Times times, std::uint32_t operation = 0, int stream = 1,
                   std::uint32_t name = 2);
  void helper(Times times, int stream = 0);
  void copy(Times times, std::uint32_t operation = 0, int stream = 2);
  void kernel(Times times, std::uint32_t operation, int stream, std::uint32_t name,
              std::uint8_t flags);
  // One of NCCL's collectives, with one channel at these times of the GPU's clock.
  void nccl(std::uint64_t sequence, Times gpu_times, std::uint32_t operation = 0,
            std::uint32_t function = 3);
  // One of NCCL's sends or receives of this rank, as its communicator of two to four ranks sees it.
  void nccl_message(trace::NcclKind kind, int rank, int peer, std::uint64_t number, Times gpu_times,
                    std::uint32_t operation = 0);

  RankTrace trace;
};

// Texts 1 to 8 of all traces here.
inline constexpr std::uint32_t k_gemm = 1, k_all_reduce_kernel = 2, k_all_reduce = 3,
                               k_broadcast = 4, k_ring = 5, k_send_recv_kernel = 6, k_send = 7,
                               k_receive = 8;
std::vector<std::string> texts();

// A clock that is as well known at all times.
ClockModel steady_clock(std::int64_t offset_ns, std::uint64_t error_ns = 0);

// The ranks 0, 1, ... on one host.
TraceSource source_of(std::vector<RankBuilder> ranks);

// The figures of the only cell; of none those of nothing.
template <typename T>
const T& only(const ByCell<T>& cells) {
  static const T nothing = T();
  if (cells.size() > 1)
    throw std::logic_error("several cells");
  return cells.empty() ? nothing : cells.begin()->second;
}

inline Timeline analysed(const TraceSource& source, TimelineOptions options = {}) {
  return value_or_throw(analyse(source, options));
}

inline Activities activities(const RankTrace& trace, const OperationIndex& operations) {
  return activities_of(trace, operations, nccl_times(trace, std::nullopt));
}

} // namespace ncclprobe::analysis::timeline
