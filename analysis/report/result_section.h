// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <vector>

namespace ncclprobe::analysis {

// For each collective a table by size of the default's figures, then every other setting against
// it. Steps have a section of their own; machines read all results in one table.
Report result_report(const RunFigures& figures);

// What a table's data column leaves unsaid: how data was looked at, why not, what throttled.
void add_data_notes(std::vector<Block>& blocks, const std::vector<const SettingResult*>& rows);

// How to read those tables: definitions and limits, once, at the end.
Section reading_section(const RunFigures& figures);

// What the default reached, collective by collective and step by step.
Section summary_section(const RunFigures& figures);

} // namespace ncclprobe::analysis
