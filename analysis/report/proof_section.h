// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

namespace ncclprobe::analysis {

// The effect of each setting (proof.h): verdicts on its variables with the log line behind them,
// and where algorithm, protocol or channels differ from the default's. Empty if the run has no
// companions.
Report proof_report(const model::Run& run);

} // namespace ncclprobe::analysis
