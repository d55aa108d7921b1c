// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

namespace ncclprobe::analysis {

// Which libraries the settings really loaded; nothing to show where all loaded the same and nobody
// chose.
Report library_report(const model::Run& run);

} // namespace ncclprobe::analysis
