// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis {

// For CSV: one row for each cell of each measuring trial, whatever became of it; the verdict is
// that of the setting, so it repeats in the rows of all its processes. Units are in the column
// names. Columns are only ever added, at the end. The figures must stay.
TablePtr cell_table(const RunFigures& figures);

} // namespace ncclprobe::analysis
