// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

namespace ncclprobe::analysis {

// The libraries that the settings really loaded. Empty if all loaded the same ones and no setting
// chooses libraries.
Report library_report(const model::Run& run);

} // namespace ncclprobe::analysis
