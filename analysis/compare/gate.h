// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison.h"

#include <string>
#include <vector>

// A limit for a comparison: how much some figures may get worse.
namespace ncclprobe::analysis::compare {

struct Gate {
  enum class Metric { busbw, algbw, time, latency };
  std::string text; // as given
  Metric metric = Metric::busbw;
  std::string workload; // "all_reduce"; "*" is any
  std::uint64_t least_bytes = 0, most_bytes = UINT64_MAX;
  double least_speed_ratio = 1; // below 1: the limit as Decision::speed_ratio

  // Whether its workload and sizes are those of this cell.
  bool names(const CellKey& key) const;
  // The same, if the cell has the metric: latency is of single launches, bandwidths are of batches
  // of collectives (algbw of P2P transfers too).
  bool selects(const CellKey& key) const;
};

// "busbw(all_reduce,>=1M) -3%": METRIC(WORKLOAD[,SIZES]) CHANGE. Sizes: 1M, 1K-64K, >=1M, >1M,
// <=64K, <64K. A bandwidth may fall by a share of it (-3%); a time may rise (+3%). Errors:
// invalid_argument.
Result<Gate> parse_gate(const std::string& text);

enum class GateVerdict { passed, regression, not_comparable, undecided };

// Why a gate has no verdict.
enum class GateReason {
  none,
  other_machine,    // GPU, fabric, NCCL or driver differ, and that was not allowed
  nothing_selected, // no cell of either side
  lacks_metric,     // cells that it names, but none with its metric
  cells_not_comparable,
  between_runs_unknown, // one run on each side
  too_little_power,     // it could not see a difference as small as the limit
  near_the_limit,       // it could, but the truth is too close to the limit
  cells_beyond_limit,   // the mean passes, but cells seem slower than the limit
};

struct GateResult {
  Gate gate;
  std::vector<const CellComparison*> cells; // that it selects
  std::vector<Suspect> refused;             // of other_machine
  // The geometric mean of these cells, decided for the gate's own limit.
  std::optional<Decision> mean;
  // Of a regression: cells that are slower by the limit or more. Of cells_beyond_limit: cells whose
  // own 95% interval lies wholly beyond the limit. The slowest first.
  std::vector<const CellComparison*> beyond;
  GateVerdict verdict = GateVerdict::undecided;
  GateReason reason = GateReason::none;
  std::optional<int> repeats; // of an undecided gate, as Decision::repeats, for its own limit
};

// Regression: the mean, or a cell, is slower beyond the noise, and by the limit or more. Passed:
// the 95% interval of the mean excludes a change as large as the limit, and no cell contradicts it:
// the 95% interval of a cell alone, not corrected for their number, lies wholly beyond the limit.
// `vary`: kinds of facts that may differ. The results point into the comparison.
std::vector<GateResult> judge_gates(const std::vector<Gate>& gates, const RunComparison& comparison,
                                    const std::vector<FactKind>& vary);

// Facts that must not differ between the sides of a gate, unless the user allows it.
const std::vector<FactKind>& guarded_facts();

// The worst of several; passed without any.
GateVerdict worst(const std::vector<GateResult>& results);

} // namespace ncclprobe::analysis::compare
