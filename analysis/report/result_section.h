// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <vector>

namespace ncclprobe::analysis {

// For each collective a table of the default's figures by size, then every other setting compared
// with it. Steps have their own section; machines read all results in one table.
Report result_report(const RunFigures& figures);

// Details of a table's data column: how data was checked, why not, what throttled.
void add_data_notes(std::vector<Block>& blocks, const std::vector<const SettingResult*>& rows);

// How to read those tables: definitions and limits, once, at the end.
Section reading_section(const RunFigures& figures);

// The default's results, for each collective and step.
Section summary_section(const RunFigures& figures);

} // namespace ncclprobe::analysis
