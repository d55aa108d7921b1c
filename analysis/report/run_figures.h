// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/steps/break_even.h"
#include "analysis/steps/scaling.h"
#include "analysis/steps/step_results.h"
#include "analysis/verdict/verdict.h"

#include <vector>

namespace ncclprobe::analysis {

// Every figure that several sections of a run's report show, computed once. The run must stay. The
// figures point to each other, so they are not copied.
struct RunFigures {
  explicit RunFigures(const RunSummary& summary, const steps::TracedCells& traced = {})
      : run(summary), results(setting_results(run)), verdicts(judge(results)),
        settings(setting_verdicts(results, verdicts)),
        steps(steps::step_results(run, results, traced)), scalings(steps::scalings(steps)),
        break_evens(steps::break_evens(steps)) {}
  RunFigures(const RunFigures&) = delete;
  RunFigures& operator=(const RunFigures&) = delete;

  const RunSummary& run;
  const std::vector<SettingResult> results;
  const Verdicts verdicts;
  const std::vector<SettingVerdict> settings;
  const std::vector<steps::StepResult> steps;
  const std::vector<steps::Scaling> scalings;
  const std::vector<steps::BreakEven> break_evens;
};

} // namespace ncclprobe::analysis
