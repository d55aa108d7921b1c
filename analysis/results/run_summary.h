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

// What a cell's samples and readings come to.
struct CellSummary {
  std::optional<CellTime> time; // of a cell that was measured and left samples
  CellReadings readings;
};

struct TrialSummary {
  std::vector<CellSummary> cells; // as TrialRecord::cells
  // A cell that the trial measured several times is one process with more batches. By the first of
  // them, the time of all together.
  std::map<std::size_t, std::optional<CellTime>> repeated;
  // By cell, of steps of training and whatever else has marks. Errors: those of step_figures().
  std::map<std::size_t, base::Result<steps::StepFigures>> steps;
  std::map<int, MemoryErrors> memory_errors; // by rank
};

// A run as reports need it: its trials without their samples, readings and marks, and what these
// come to. Of a large run they are nearly everything, so they are summarised one trial at a time.
// P2P transfers keep their samples: matrices show the extremes of all batches, and only the ranks
// of a transfer have some.
struct RunSummary : model::Run {
  std::vector<TrialSummary> summaries; // as `trials`

  RunSummary() = default;
  RunSummary(model::RunHeader header, std::size_t trial_count);
  // A run stands for its summary. Not so a constant one, unless it is asked for: that may be a
  // summary, whose samples are gone.
  explicit RunSummary(const model::Run& run);
  RunSummary(model::Run& run) : RunSummary(std::as_const(run)) {}
  RunSummary(model::Run&& run) : RunSummary(std::as_const(run)) {}

  // Fills one of the trials. Several threads may do so at once, each for another trial.
  void add(std::size_t index, model::TrialRecord trial);
};

} // namespace ncclprobe::analysis
