// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "model/collective.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The run's measurements of collectives.
namespace ncclprobe::analysis::cost_model {

struct Point {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::uint64_t bytes = 0; // S as in nccl-tests (bandwidth.h)
  double time_ns = 0;
  std::string algorithm; // as the companion trial recorded it; empty: unknown
  std::string protocol;
  std::optional<double>
      launch_ns; // time for which the host was busy launching; only for collectives
};

// With default settings: collectives launched back to back, out of place if both were measured;
// from steps without computing, each stretch that holds one collective (the fastest rank's time).
// By collective, ranks, bytes. Excludes wrong data and single ranks.
std::vector<Point> cost_points(const RunSummary& run, const std::vector<SettingResult>& results);

// Collectives launched one at a time (latency mode), otherwise as above; no steps.
std::vector<Point> latency_points(const model::Run& run, const std::vector<SettingResult>& results);

// Sorted the same way.
void add_points(std::vector<Point>& points, std::vector<Point> more);

// The same, with a guess for points whose algorithm is unknown: that of the nearest size (as a
// ratio) with a known one, of the same collective on as many ranks; without any it stays unknown.
std::vector<Point> with_nearest_algorithms(std::vector<Point> points);

// The data of each communication stretch of a step, in the order of their starts; nothing for a
// stretch that is not one collective, or the same one of several groups of ranks at once.
struct Moved {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Moved&) const = default;
};
std::vector<std::optional<Moved>> moved_by(const model::Schedule& schedule, int world_size);

} // namespace ncclprobe::analysis::cost_model
