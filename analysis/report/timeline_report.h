// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"
#include "analysis/job/job_causes.h"
#include "analysis/report_value/report_value.h"
#include "analysis/timeline/timeline.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// Facts about the figures, from the caller, who has the trace.
struct TimelineHeading {
  std::string title;                // "trial 7 of run.h5, kernels"
  std::string cost;                 // the cost of tracing, "+0.3% [0.1, 0.5]"; empty: unknown
  std::vector<Finding> notes;       // missing data and other remarks
  std::map<int, std::string> cells; // by index in the trial, "all_reduce 1M"; may be empty
  std::shared_ptr<const job::FoundSteps> job =
      nullptr; // of a captured job; null: none was searched
  std::shared_ptr<const job::JobCauses> causes = nullptr; // of found steps; null: not searched
  std::vector<Finding> origin = {};                       // what the trace is of
};

// "AllReduce 25M x 3, AllReduce 1M". `texts`: TraceSource::texts.
std::string step_kind_text(const job::StepKind& kind, const std::vector<std::string>& texts);

// Times for machines are in ns. CSV has a row for each rank and cell or, if the timeline keeps
// steps, for each rank and step. Formulas: docs/method.md, "The timeline".
Report timeline_report(timeline::Timeline timeline, TimelineHeading heading);

} // namespace ncclprobe::analysis
