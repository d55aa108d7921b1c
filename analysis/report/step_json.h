// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "analysis/results/run_summary.h"
#include "analysis/steps/by_kernels.h"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace ncclprobe::analysis {

// "steps", "overlap", "scaling", "break_even" and "input_copies" of a run: times in ms, shares of a
// step as fractions. Null for a run without steps.
nlohmann::ordered_json steps_json(const RunSummary& run, const std::vector<SettingResult>& results,
                                  const steps::TracedCells& traced);

} // namespace ncclprobe::analysis
