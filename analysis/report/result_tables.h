// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/steps/by_kernels.h"
#include "analysis/verdict/verdict.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The measurements of the terminal report: for each collective a table by size of the default's
// figures, then a table of every other setting against it. Steps have a section of their own.
std::string render_result_tables(const model::Run& run, const std::vector<SettingResult>& results,
                                 const Verdicts& verdicts);

// What a table's data column leaves unsaid: how data was looked at, why not, what throttled.
std::string data_footnotes(const std::vector<const SettingResult*>& rows);

// How to read those tables: definitions and limits, once, at the end.
std::string render_reading_notes(const std::vector<SettingResult>& results,
                                 const Verdicts& verdicts);

// The last lines of the report: what the default reached, collective by collective.
std::string render_summary(const RunSummary& run, const std::vector<SettingResult>& results,
                           const steps::TracedCells& traced);

} // namespace ncclprobe::analysis
