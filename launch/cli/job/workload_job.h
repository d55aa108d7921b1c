// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "workload/step_cells.h"

namespace ncclprobe::cli {

// Errors: invalid_argument for options that work only with collectives, or only with a workload.
Result<void> check_workload(const RunOptions& options);

// How collectives and steps are launched: directly, as graphs, or both.
std::vector<model::Launch> launches(const RunOptions& options);

// The steps to measure: all combinations of the given values, on sets of ranks that the topology
// suggests. Errors: invalid_argument (no model, more ranks than there are), and those of
// workload::find_model().
Result<workload::StepMeasurement> make_measurement(const RunOptions& options,
                                                   const Session& session);

} // namespace ncclprobe::cli
