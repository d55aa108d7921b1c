// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_report.h"
#include "launch/cli/fleet/fleet_trials.h"

#include <filesystem>

namespace ncclprobe::cli {

// An earlier check.
struct FleetBaseline {
  std::filesystem::path file;
  analysis::fleet::Judgement judgement; // as this one judges
  // By node of this check: the number of the node of that name then. Absent: there was none, or
  // several.
  std::vector<std::optional<int>> nodes;
};

// Errors: those of read_run_or_parts(); mismatch (it is no check, is of another collective, size,
// group or number of ranks per node, or knows none of these nodes).
base::Result<FleetBaseline> read_fleet_baseline(const std::filesystem::path& file,
                                                const analysis::fleet::CheckOptions& limits,
                                                const FleetMeasurement& what,
                                                const FleetNodes& nodes,
                                                std::optional<int> ranks_per_node);

// What it says of the nodes of this check.
std::vector<std::vector<std::optional<analysis::fleet::EarlierSpeed>>>
earlier_speeds(const FleetBaseline& baseline);

// The usual bandwidth now against that of then. Nothing if one of them is unknown.
std::optional<analysis::fleet::BaselineComparison>
compare_fleets(const FleetBaseline& baseline, const analysis::fleet::CheckOptions& limits,
               const analysis::fleet::Judgement& now);

} // namespace ncclprobe::cli
