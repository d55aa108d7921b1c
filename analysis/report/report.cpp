// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/report.h"

#include "analysis/report/cell_table.h"
#include "analysis/report/cpu_section.h"
#include "analysis/report/heading.h"
#include "analysis/report/launch_section.h"
#include "analysis/report/library_section.h"
#include "analysis/report/nccl_section.h"
#include "analysis/report/outcome_section.h"
#include "analysis/report/p2p_report.h"
#include "analysis/report/power_section.h"
#include "analysis/report/price_section.h"
#include "analysis/report/problems.h"
#include "analysis/report/proof_section.h"
#include "analysis/report/reference_range_section.h"
#include "analysis/report/replay_section.h"
#include "analysis/report/result_section.h"
#include "analysis/report/saturation_section.h"
#include "analysis/report/step_section.h"
#include "analysis/report/tracing_section.h"
#include "analysis/report/traffic_section.h"
#include "analysis/report/verdict_section.h"

namespace ncclprobe::analysis {
namespace {

constexpr FindingKind k_no_trial{
    "no_trial_finished", Severity::warning,
    "No trial was finished, so nothing was measured. Start the run again. The workers' "
    "messages are on the terminal or in the job's log."},
    k_nothing_measured{"nothing_measured", Severity::warning,
                       "Nothing was measured in any trial. The reasons are above."};

// What to do about a run that measured little or nothing.
Section outlook_section(const RunFigures& figures) {
  if (figures.run.trials.empty())
    return {
        .key = "outlook", .blocks = {Findings{"", {{&k_no_trial}}}}, .part = Section::Part::answer};
  if (figures.results.empty())
    return {.key = "outlook",
            .blocks = {Findings{"", {{&k_nothing_measured}}}},
            .part = Section::Part::answer};
  return {"outlook"};
}

Report begin_report(const RunSummary& run) {
  return {.data = {{"schema", "ncclprobe.report"},
                   {"schema_version", k_json_report_version},
                   {"synthetic", is_synthetic(run)},
                   {"imported", !run.header.imported.empty()}}};
}

Report whole_report(const RunSummary& run, std::optional<double> price_per_gpu,
                    const steps::TracedCells& traced) {
  const auto figures = std::make_shared<const RunFigures>(run, traced);
  const auto& results = figures->results;
  Report report = begin_report(run);
  report.figures.push_back(figures);
  report.rows = cell_table(*figures);
  append(report, run_heading(run));
  report.sections.push_back(wrong_data_section(run));
  report.sections.push_back(outcome_section(*figures));
  append(report, replay_report(*figures));
  append(report, verdict_report(*figures));
  append(report, result_report(*figures));
  append(report, saturation_report(run, results));
  append(report, step_report(*figures));
  append(report, launch_report(run, results));
  append(report, power_report(run, results));
  if (price_per_gpu)
    append(report, price_report(run, results, figures->scalings, *price_per_gpu));
  append(report, traffic_report(run, results));
  append(report, library_report(run));
  append(report, cpu_report(run));
  append(report, reference_range_report(run, results));
  append(report, proof_report(run));
  append(report, nccl_prediction_report(run, results, figures->verdicts));
  append(report, tracing_cost_report(run));
  append(report, problem_report(run));
  report.sections.push_back(outlook_section(*figures));
  report.sections.push_back(reading_section(*figures));
  report.sections.push_back(method_section(*figures));
  report.sections.push_back(summary_section(*figures));
  // A terminal shows the end of a long report, so the most important part is repeated there.
  report.sections.push_back(answer_section(*figures));
  report.sections.push_back(wrong_data_section(run));
  return report;
}

Report brief_report(const RunSummary& run) {
  const auto figures = std::make_shared<const RunFigures>(run);
  Report report = begin_report(run);
  report.figures.push_back(figures);
  report.rows = cell_table(*figures);
  report.sections.push_back(wrong_data_section(run));
  report.sections.push_back(outcome_section(*figures));
  append(report, replay_report(*figures));
  append(report, verdict_report(*figures));
  report.sections.push_back(outlook_section(*figures));
  if (figures->settings.empty()) // nothing was compared
    report.sections.push_back(summary_section(*figures));
  return report;
}

} // namespace

Report run_report(const RunSummary& run, std::optional<double> price_per_gpu,
                  const steps::TracedCells& traced, Extent extent) {
  return is_p2p(run)               ? p2p_report(run)
         : extent == Extent::brief ? brief_report(run)
                                   : whole_report(run, price_per_gpu, traced);
}

} // namespace ncclprobe::analysis
