// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The training steps of a run: how a step's time was spent, by number of ranks; the buckets of the
// largest step; gain and cost of overlap; scaling and its losses; settings compared with the
// default. Empty for a run without steps. Formulas: docs/method.md, "Steps".
Report step_report(const RunFigures& figures);

// One for each kind of step: the step time with default settings at the most ranks, and what is
// lost compared with fewer ranks. Then one for each input copy.
std::vector<std::string> step_sentences(const RunFigures& figures);

} // namespace ncclprobe::analysis
