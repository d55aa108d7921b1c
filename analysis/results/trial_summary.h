// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_readings.h"
#include "analysis/results/cell_time.h"
#include "analysis/step_marks/step_figures.h"
#include "model/record.h"

#include <cstddef>
#include <map>
#include <optional>
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

// Makes the summary of a trial from its cells, one after the other.
class TrialSummariser {
public:
  explicit TrialSummariser(const model::TrialSpec& spec);

  // Of the next cell. The record's readings and marks are gone afterwards, and its samples too,
  // unless it is a P2P transfer.
  void add(const model::TrialSpec& spec, std::size_t cell, model::CellRecord& record);
  TrialSummary summary() const;

private:
  // Cells that are one measurement, as far as they were measured.
  struct Repeated {
    std::size_t last = 0;
    std::vector<std::size_t> measured{};
    std::vector<model::Sample>
        samples{}; // as if the later cells' batches followed those of the earlier
  };
  void add_repeated(std::size_t cell, const model::CellRecord& record);

  TrialSummary summary_;
  std::vector<std::size_t> group_of_; // by cell: in repeated_
  std::vector<Repeated> repeated_;
  MemoryErrorCounter memory_errors_;
};

} // namespace ncclprobe::analysis
