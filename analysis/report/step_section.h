// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The steps of training in a run: what a step's time went to, by number of ranks; the buckets of
// the largest; what overlap gains and costs; how far it scales and what is lost to what; settings
// against the default. Empty for a run without steps. Formulas: docs/method.md, "Steps".
Report step_report(const RunFigures& figures);

// One for each kind of step: the step time with default settings at the most ranks, and what is
// lost on the way there. Then one for each input copy.
std::vector<std::string> step_sentences(const RunFigures& figures);

} // namespace ncclprobe::analysis
