// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_report.h"
#include "launch/cli/fleet/fleet_trials.h"

#include <filesystem>

namespace ncclprobe::cli {

// What the run file of an earlier check says of its nodes, judged as this one. Errors: those of
// read_run_or_parts(); mismatch (it is no check, or of another collective, size or group).
base::Result<analysis::fleet::Judgement>
read_fleet_baseline(const std::filesystem::path& file, const analysis::fleet::CheckOptions& limits,
                    const FleetMeasurement& what, std::optional<int> ranks_per_node);

// The usual bandwidth now against that of then. Nothing if one of them is unknown.
std::optional<analysis::fleet::BaselineComparison>
compare_fleets(const std::filesystem::path& file, const analysis::fleet::CheckOptions& limits,
               const analysis::fleet::Judgement& now, const analysis::fleet::Judgement& then);

} // namespace ncclprobe::cli
