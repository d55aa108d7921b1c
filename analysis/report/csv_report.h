// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// RFC 4180 with a header line: one row for each cell of each measuring trial, whatever became of
// it; the verdict is that of the setting, so it repeats in the rows of all its processes. Units
// are in the column names; what was not measured is empty. Columns are only ever added, at the end.
std::string render_csv_report(const RunSummary& run);

} // namespace ncclprobe::analysis
