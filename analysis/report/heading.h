// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"

#include <string>

namespace ncclprobe::analysis {

// True if any of the run's numbers come from the synthetic model. Then every view says so.
bool is_synthetic(const model::Run& run);

// " [SYNTHETIC]" behind a caption, or nothing.
std::string synthetic_mark(const model::Run& run);

// What the run was made on and with, and how far it came: the first block of the terminal report.
std::string render_heading(const RunSummary& run);

} // namespace ncclprobe::analysis
