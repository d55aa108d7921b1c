// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/trial_summary.h"
#include "model/run.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {

// A run as reports need it: its trials without their samples, readings and marks, plus the
// summaries of these. In a large run they are almost all the data, so cells are summarised one at a
// time. P2P transfers keep their samples: matrices show the extremes of all batches, and only a
// transfer's ranks have samples.
struct RunSummary : model::Run {
  std::vector<TrialSummary> summaries; // as `trials`

  RunSummary() = default;
  RunSummary(model::RunHeader header, std::size_t trial_count);
  // Converts a run into its summary. A constant run must be converted explicitly: it may already be
  // a summary, whose samples are gone.
  explicit RunSummary(const model::Run& run);
  RunSummary(model::Run& run) : RunSummary(std::as_const(run)) {}
  RunSummary(model::Run&& run) : RunSummary(std::as_const(run)) {}

  // Fill in one trial: each of its cells, in their order, whose rows are gone afterwards; then the
  // trial. Without the former, add() looks at all cells. Several threads may do so at once, each
  // for another trial.
  void add_cell(std::size_t index, const model::TrialSpec& spec, std::size_t cell,
                model::CellRecord& record);
  void add(std::size_t index, model::TrialRecord trial);

private:
  std::vector<std::optional<TrialSummariser>> summarisers_; // of trials that come cell by cell
};

} // namespace ncclprobe::analysis
