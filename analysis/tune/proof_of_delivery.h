// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/statistics/inference.h"

#include <set>
#include <string>
#include <vector>

namespace ncclprobe::analysis::tune {

// How a delivery did in processes that had no part in choosing it, in turns with the default.
struct DeliveryProof {
  // Welch's test of the processes' times, each the geometric mean over the targets by weight, as
  // default / delivery: above 1 the delivery is faster. Empty with fewer than two processes on a
  // side that measured all targets.
  std::optional<RatioTest> all;
  // The same of each target, in their order.
  std::vector<std::optional<RatioTest>> each;
  int default_processes = 0;
  int delivery_processes = 0;
  int rejected = 0;        // trials of the proof that do not count (RejectedTrials)
  int repeated = 0;        // of these
  bool disturbed = false;  // `all` is empty only because of these trials
  bool wrong_data = false; // in a process with the delivery
  model::OutcomeKind outcome = model::OutcomeKind::ok; // of its first trial that failed

  // The delivery never failed, is faster for all targets together, and not slower for any of them,
  // at k_confidence.
  bool holds() const;
};

// A target as the default measures it, and as the delivery does: options of a training step are
// part of the label.
struct ProvenTarget {
  model::CellLabel of_default;
  model::CellLabel of_delivery;
  double weight = 1;
};

// `run` measured all targets with the default, and with the delivery. `delivered`: the name of the
// delivery's settings in the run. Other cells of the run do not count, and neither do the times of
// the trials in `without`.
DeliveryProof prove_delivery(const RunSummary& run, const std::vector<ProvenTarget>& targets,
                             const std::string& delivered, const std::set<int>& without = {});

} // namespace ncclprobe::analysis::tune
