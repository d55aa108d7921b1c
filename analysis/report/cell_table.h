// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis {

// For CSV: one row for each cell of each measuring trial, whatever its outcome. The verdict is on
// the setting, so it is the same in the rows of all its processes. Units are in the column names.
// New columns are only added at the end. The figures must stay.
TablePtr cell_table(const RunFigures& figures);

} // namespace ncclprobe::analysis
