// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/verdict/verdict.h"
#include "model/run.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// All settings of one family (same_family) against the default: one row a setting over ranges of
// sizes, then one row for each cell that is better or worse. Empty if there is none but the
// default.
std::string render_comparison(const model::Run& run,
                              const std::vector<const SettingResult*>& family,
                              const Verdicts& verdicts);

} // namespace ncclprobe::analysis
