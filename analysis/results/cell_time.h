// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/rank_values.h"
#include "analysis/statistics/statistics.h"
#include "model/record.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace ncclprobe::analysis {

// Time per operation of one cell in one process.
struct CellTime {
  std::vector<double> batch_ns; // mean over ranks, by batch (latency mode: by launch)
  Summary over_batches_ns;      // of batch_ns
  // Median over batches. Shared by all copies, because with many ranks it is by far the largest
  // part.
  std::shared_ptr<const RankValues> rank_ns;
  // The part of an operation's time for which the host was busy launching it (model::Sample): mean
  // over ranks, median over batches. Absent if it was not measured.
  std::optional<double> launch_ns;
};

// For single launches, each the mean over ranks.
struct Latency {
  double p50_ns = 0;
  double p90_ns = 0;
  double p99_ns = 0;
  double max_ns = 0;
  std::size_t launches = 0;
};
Latency latency_of(const CellTime& time);

// Batches that lack a rank of another batch are omitted. Nothing if no batch is complete.
std::optional<CellTime> cell_time(const std::vector<model::Sample>& samples);

// The rank with the longest time, the lowest of several. Nothing if there is only one rank, or if
// all ranks took the same time.
struct SlowestRank {
  int rank = 0; // global
  double time_ns = 0;
};
std::optional<SlowestRank> slowest_rank(const RankValues& rank_ns);

} // namespace ncclprobe::analysis
