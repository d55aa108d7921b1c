// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <vector>

namespace ncclprobe::analysis {

// How well the run replays the captured step: its step time, exposed communication, and each kind
// of operation. Empty for other runs.
Report replay_report(const RunFigures& figures);

// What a verdict of a replay is worth for the job. Empty for other runs.
std::vector<Finding> replay_caution(const RunFigures& figures);

} // namespace ncclprobe::analysis
