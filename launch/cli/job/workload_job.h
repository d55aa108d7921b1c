// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "workload/step_cells.h"

namespace ncclprobe::cli {

// Errors: invalid_argument for options that go with collectives only, or with a workload only.
base::Result<void> check_workload(const RunOptions& options);

// Directly, as graphs, or both: of collectives and steps.
std::vector<workload::Launch> launches(const RunOptions& options);

// What is to be measured: the product of all values that were said, on sets of ranks that the
// topology suggests. Errors: invalid_argument (no model, more ranks than there are), and those of
// workload::find_model().
base::Result<workload::StepMeasurement> make_measurement(const RunOptions& options,
                                                         const Session& session);

} // namespace ncclprobe::cli
