// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/steps/step_results.h"
#include "analysis/verdict/verdict.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The steps of training in a run: what a step's time went to, by number of ranks; the buckets of
// the largest; what overlap gains and costs; how far it scales and what is lost to what; settings
// against the default. Empty for a run without steps. Formulas: docs/method.md, "Steps".
std::string render_steps(const RunSummary& run, const std::vector<SettingResult>& results,
                         const Verdicts& verdicts, const steps::TracedCells& traced);

// One paragraph for each kind of step: the step time with default settings at the most ranks, and
// what is lost on the way there.
std::string render_step_summary(const RunSummary& run, const std::vector<SettingResult>& results,
                                const steps::TracedCells& traced);

// How many channels NCCL used at most in a cell of that setting, from its companion trial.
struct ChannelsOfStep {
  const steps::StepResult* result = nullptr;
  int channels = 0;
};
std::vector<ChannelsOfStep> channels_of_steps(const model::Run& run,
                                              const std::vector<steps::StepResult>& results);

} // namespace ncclprobe::analysis
