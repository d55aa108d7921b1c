// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/step_results.h"
#include "model/run.h"

#include <vector>

// What a run records about a step's measurement.
namespace ncclprobe::analysis::steps {

// The cell of this step; null: the run has no cell with that label.
const model::Cell* cell_of(const model::Run& run, const StepResult& result);

// Of the run's ranks.
std::vector<int> hosts_of(const model::Run& run);

} // namespace ncclprobe::analysis::steps
