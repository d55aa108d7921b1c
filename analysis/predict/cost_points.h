// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "model/collective.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a run knows of how long collectives take.
namespace ncclprobe::analysis::cost_model {

struct Point {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::uint64_t bytes = 0; // S as nccl-tests means it (bandwidth.h)
  double time_ns = 0;
  std::string algorithm; // as the companion trial saw it; empty: not known
  std::string protocol;
  std::optional<double> launch_ns; // the host was busy asking for it; of collectives only
};

// With default settings: collectives launched back to back, out of place where both were measured,
// and, of steps without computing, each stretch that holds one collective (the fastest rank's
// time). By collective, ranks, bytes. Wrong data counts for nothing, and so does a single rank.
std::vector<Point> cost_points(const RunSummary& run, const std::vector<SettingResult>& results);

// Collectives launched one at a time (latency mode), otherwise as above; no steps.
std::vector<Point> latency_points(const model::Run& run, const std::vector<SettingResult>& results);

// In the same order again.
void add_points(std::vector<Point>& points, std::vector<Point> more);

// The same; a point without a known algorithm takes that of the nearest size (as a ratio) of the
// same collective on as many ranks. If none is known there, it stays unknown.
std::vector<Point> with_nearest_algorithms(std::vector<Point> points);

// What each stretch of communication of a step moves, in the order of its begins; nothing for one
// that is not one collective, or the same one of several groups of ranks at once.
struct Moved {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Moved&) const = default;
};
std::vector<std::optional<Moved>> moved_by(const model::Schedule& schedule, int world_size);

} // namespace ncclprobe::analysis::cost_model
