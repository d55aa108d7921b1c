// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis {

// How a run ended, for the beginning of its page. A text has a line about trials in its heading,
// and its failures at the end.

// Trials that failed, with what to do, or how many are missing. Empty if all went well.
Section failure_section(const model::Run& run);

// The same, or of a run without a comparison of settings: that all went well, how much it scatters,
// and what to do next.
Section outcome_section(const RunFigures& figures);

} // namespace ncclprobe::analysis
