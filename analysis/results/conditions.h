// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// State of the GPUs during the measurement.
namespace ncclprobe::analysis {

// "software power cap, hardware thermal slowdown"; bits that do not mean slower are omitted.
std::string throttle_text(std::uint64_t reasons);

// Over all ranks and readings of the measuring trials.
struct ConditionSummary {
  Range sm_clock_mhz;
  Range temperature_c;
  Range power_mw;
  std::optional<std::uint64_t> throttle_reasons; // absent if none could be read
  int cells = 0;                                 // with readings: a cell of a trial counts once
  int throttled_cells = 0;
  // Ranks whose GPU had processes other than the run's ranks before or after some cell.
  // counted_cells are the cells for which the number of processes is known.
  std::vector<int> shared_ranks;
  int shared_cells = 0;
  int counted_cells = 0;
  std::map<int, MemoryErrors> memory_errors; // by rank; none: no entry
};
ConditionSummary summarise_conditions(const RunSummary& run);

// "other processes used the GPUs of ranks 0-1 around 3 of 40 cells, which disturbs the measurement;
// ..." for disturbances and errors; empty if there were none.
std::string disturbances(const ConditionSummary& summary);

} // namespace ncclprobe::analysis
