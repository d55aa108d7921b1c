// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_readings.h"
#include "analysis/results/cell_time.h"
#include "analysis/step_marks/step_figures.h"
#include "model/run.h"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {

// The summary of a cell's samples and readings.
struct CellSummary {
  std::optional<CellTime> time; // of a cell that was measured and left samples
  CellReadings readings;
};

struct TrialSummary {
  std::vector<CellSummary> cells; // as TrialRecord::cells
  // If the trial measured a cell several times, these count as one process with more batches. The
  // time of all together is stored at the first of them.
  std::map<std::size_t, std::optional<CellTime>> repeated;
  // By cell, for training steps and other workloads with marks. Errors: those of step_figures().
  std::map<std::size_t, Result<steps::StepFigures>> steps;
  std::map<int, MemoryErrors> memory_errors; // by rank
};

// A run as reports need it: its trials without their samples, readings and marks, plus the
// summaries of these. In a large run they are almost all the data, so trials are summarised one at
// a time. P2P transfers keep their samples: matrices show the extremes of all batches, and only a
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

  // Fills in one trial. Several threads may do so at once, each for another trial.
  void add(std::size_t index, model::TrialRecord trial);
};

} // namespace ncclprobe::analysis
