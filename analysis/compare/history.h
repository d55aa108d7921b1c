// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/compared_run.h"
#include "analysis/statistics/inference.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// When did a figure change, over many runs? Circular binary segmentation of the logarithms (Olshen
// and others, Biostatistics 2004): the stretch of runs whose mean differs most from that of the
// others begins and ends with a change, if few random orders of the same values have a stretch as
// different. This permutation test assumes no distribution, but independent runs. Then the parts
// are searched. Of fewer than 14 runs, the stretch begins with the first.
namespace ncclprobe::analysis::compare {

struct Change {
  std::size_t first_after = 0; // of the series' values, from 0: the first after the change
  double speed_ratio = 1;      // after / before, up to the neighbouring changes; below 1: slower
  std::optional<Interval> interval; // of the ratio; absent with a single value on a side
  double p = 1;
};

struct HistorySeries {
  std::optional<CellKey> cell;   // absent: geometric mean over the cells that all runs have
  std::vector<std::size_t> runs; // of History::runs, those that measured it
  std::vector<double> times_ns;  // of these
  std::vector<Change> changes;   // by place
  double alpha = 0;              // a change has p below it; 0: too short to show one
};

struct History {
  std::vector<ComparedRun> runs;     // by start
  std::vector<HistorySeries> series; // all cells first, then by cell
  std::size_t other_runs =
      0; // left out: another GPU, fabric, number of ranks or NCCL than the last
};

// Fewer values have too few orders to show a change. So many show one near their middle.
inline constexpr std::size_t k_least_history = 10;

// In runs that do not change, the probability of any false change is about k_alpha: half for the
// mean of all cells, half over the cells (Bonferroni). Of fewer than 14 runs, single cells could
// show nothing; then all of it is for the mean.
History history_of(std::vector<ComparedRun> runs, std::uint64_t seed = 1);

// The changes of one series of times.
std::vector<Change> changes_in(const std::vector<double>& times_ns, double alpha,
                               std::uint64_t seed);

} // namespace ncclprobe::analysis::compare
