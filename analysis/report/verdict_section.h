// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/verdict/verdict.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The answer to "what should I set?" in one or two sentences. "Keep the defaults" is a normal one,
// but where most comparisons would have missed a large difference it is "Too noisy to tell".
// Empty if no setting was compared.
std::string answer_text(const std::vector<SettingVerdict>& settings, const Verdicts& verdicts);

// What to do about comparisons that are too noisy to tell, and what disturbed them if that is
// known. Empty if there are none.
std::string noise_advice(const RunSummary& run, const std::vector<SettingResult>& results,
                         const Verdicts& verdicts);

// The answer, setting by setting: the first thing after the heading. Empty likewise.
std::string render_answer(const RunSummary& run, const std::vector<SettingResult>& results,
                          const Verdicts& verdicts);

// By what method, with the numbers of this run. Empty if no setting was compared.
std::string render_method(const Verdicts& verdicts);

} // namespace ncclprobe::analysis
