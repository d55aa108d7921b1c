// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <vector>

namespace ncclprobe::analysis {

// Every other setting against the default in one family of cells: by range of sizes, and each cell
// with a verdict. Empty if the run tried no other setting there.
Section comparison_section(const RunFigures& figures,
                           const std::vector<const SettingResult*>& family);

} // namespace ncclprobe::analysis
