// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/report.h"

#include "analysis/report/cpu_section.h"
#include "analysis/report/csv_report.h"
#include "analysis/report/heading.h"
#include "analysis/report/json_report.h"
#include "analysis/report/label_words.h"
#include "analysis/report/launch_section.h"
#include "analysis/report/library_section.h"
#include "analysis/report/nccl_section.h"
#include "analysis/report/normality_section.h"
#include "analysis/report/p2p_report.h"
#include "analysis/report/power_section.h"
#include "analysis/report/price_section.h"
#include "analysis/report/problems.h"
#include "analysis/report/proof_section.h"
#include "analysis/report/result_tables.h"
#include "analysis/report/saturation_section.h"
#include "analysis/report/step_section.h"
#include "analysis/report/tracing_section.h"
#include "analysis/report/traffic_section.h"
#include "analysis/report/verdict_section.h"

namespace ncclprobe::analysis {
namespace {

// What to do about a run that measured little or nothing; empty if there is nothing to say.
std::string render_outlook(const model::Run& run, const std::vector<SettingResult>& results) {
  if (run.trials.empty())
    return "\nNo trial was finished, so nothing was measured. Start the run again; what its "
           "workers "
           "said\nis on the terminal or in the log of the job that ran it.\n";
  if (results.empty())
    return "\nNothing was measured in any trial. The reasons are above.\n";
  return "";
}

std::string render_table_report(const RunSummary& run, std::optional<double> price_per_gpu,
                                const steps::TracedCells& traced) {
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);
  std::string wrong = render_wrong_data(run);
  std::string out = render_heading(run);
  if (!wrong.empty())
    out += "\n" + wrong;
  if (std::string answer = render_answer(run, results, verdicts); !answer.empty())
    out += "\n" + answer;
  out += render_result_tables(run, results, verdicts);
  if (std::string saturation = render_saturation(run, results); !saturation.empty())
    out += "\n" + saturation;
  out += render_steps(run, results, verdicts, traced);
  if (std::string launches = render_launches(run, results); !launches.empty())
    out += "\n" + launches;
  if (std::string power = render_power(run, results); !power.empty())
    out += "\n" + power;
  if (price_per_gpu)
    out += "\n" + render_prices(run, results, *price_per_gpu);
  if (std::string traffic = render_traffic(run, results); !traffic.empty())
    out += "\n" + traffic;
  if (std::string libraries = render_libraries(run); !libraries.empty())
    out += "\n" + libraries;
  if (std::string cpus = render_cpus(run); !cpus.empty())
    out += "\n" + cpus;
  if (std::string normality = render_normality(run, results); !normality.empty())
    out += "\n" + normality;
  if (std::string proof = render_proof(run); !proof.empty())
    out += "\n" + proof;
  if (std::string nccl = render_nccl_predictions(run, results, verdicts); !nccl.empty())
    out += "\n" + nccl;
  if (std::string cost = render_tracing_cost(run); !cost.empty())
    out += "\n" + cost;
  if (std::string problems = render_problems(run); !problems.empty())
    out += "\n" + problems;
  out += render_outlook(run, results);
  out += render_reading_notes(results, verdicts);
  out += render_method(verdicts);
  out += render_summary(run, results, traced);
  // A terminal shows the end of a long report: what matters most is said again there.
  if (!wrong.empty())
    out += "\n" + wrong;
  return out;
}

} // namespace

std::string render_report(const RunSummary& run, Format format, std::optional<double> price_per_gpu,
                          const steps::TracedCells& traced) {
  if (is_p2p(run))
    return format == Format::json  ? render_p2p_json(run)
           : format == Format::csv ? render_p2p_csv(run)
                                   : render_p2p_table(run);
  switch (format) {
  case Format::table:
    return render_table_report(run, price_per_gpu, traced);
  case Format::json:
    return render_json_report(run, price_per_gpu, traced);
  case Format::csv:
    return render_csv_report(run);
  }
  return "";
}

} // namespace ncclprobe::analysis
