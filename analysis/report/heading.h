// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/results/run_summary.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

inline constexpr FindingKind k_synthetic_numbers{
    "synthetic_numbers", Severity::warning,
    "SYNTHETIC NUMBERS: they come from a model, nothing was measured."};
inline constexpr FindingKind k_imported_numbers{
    "imported_numbers", Severity::note,
    "IMPORTED from {files}: ncclprobe did not measure this. Each launch counts as one process."};
inline constexpr FindingKind k_forced{
    "resumed_under_other_conditions", Severity::warning,
    "resumed with --force under other conditions: its trials cannot be compared. {differences}"};

// True if any of the run's numbers come from the synthetic model. Then every view must say so.
bool is_synthetic(const model::Run& run);

// " [SYNTHETIC]" for the end of a title, or nothing.
std::string synthetic_mark(const model::Run& run);

// The machine and software of the run, and its progress: the first section of its report.
Section heading_section(const RunSummary& run);
// The same for machines, and the memory of devices by use.
Report run_heading(const RunSummary& run);

} // namespace ncclprobe::analysis
