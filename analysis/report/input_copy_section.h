// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The cost of copying input from the host during a step. Empty if no input was copied.
Report input_copy_report(const RunFigures& figures);

// One for each kind of copy on the most ranks, with default settings.
std::vector<std::string> input_copy_sentences(const std::vector<steps::StepResult>& results);

} // namespace ncclprobe::analysis
