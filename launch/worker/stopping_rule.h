// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ncclprobe::worker {

// The actual number of iterations and batches of a cell, the same on all ranks. With a
// target_interval there may be more batches.
struct Effort {
  int iterations = 1;
  int batches = 1;
  bool operator==(const Effort&) const = default;
};

// The requested timing, reduced to its budget: first iterations (to at least 1), then batches (to
// at least k_least_batches, so there is a spread if the estimate was too high). `iteration_ns`
// is the time of one iteration, agreed on by all ranks.
inline constexpr int k_least_batches = 3;
Effort plan_effort(const model::Timing& timing, double iteration_ns);

// Remaining warm-up runs after the first, which took `iteration_ns`: at most a quarter of the
// budget.
int remaining_warmups(const model::Timing& timing, double iteration_ns);

// 95% confidence interval of the median (base/order_statistics.h). None below 6 values.
struct MedianInterval {
  double low = 0;
  double median = 0;
  double high = 0;
};
std::optional<MedianInterval> median_interval(std::vector<double> values);

// A rank's vote after a batch, or a launch of latency mode. All ranks follow the largest vote;
// every vote but `more` ends the cell.
enum class Vote { enough, more, out_of_time, wrong_data };

// How long to continue. `least` and `most` are numbers of samples.
struct SampleLimits {
  std::int64_t least = 1;
  std::int64_t most = 1;
  double target_interval = 0;
  std::int64_t budget_ns = 0; // 0: no limit
};
SampleLimits limits_for(const model::Timing& timing, const Effort& effort);

// From the samples so far, at least one, and the time since the first of them began. An exhausted
// budget ends the cell, whatever else is wanted.
Vote vote(const SampleLimits& limits, const std::vector<double>& samples, std::int64_t spent_ns);
bool is_out_of_time(const SampleLimits& limits, std::int64_t spent_ns);

} // namespace ncclprobe::worker
