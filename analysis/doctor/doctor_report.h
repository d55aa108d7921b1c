// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/finding.h"
#include "analysis/survey/case.h"

#include <string>

namespace ncclprobe::analysis::doctor {

// Text for people: chain, decision tree, findings worst first, a summary line. `ok` findings take
// one line each.
std::string render_text(const Case& one, const std::vector<Finding>& findings);

// JSON for programs: the verdicts and the case behind them, which --offline reads again.
std::string render_json(const Case& one, const std::vector<Finding>& findings);

} // namespace ncclprobe::analysis::doctor
