// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/claim_command.h"

#include "analysis/report/heading.h"
#include "analysis/report/text_layout.h"
#include "analysis/steps/step_results.h"
#include "base/exit_code.h"
#include "cli/report_files.h"

#include <ostream>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_command = "ncclprobe claim";
constexpr int k_exit_claim_fails = base::k_exit_failures;

// The step with default settings at the most ranks; null if the run has none that communicates.
const analysis::steps::StepResult*
widest_step(const std::vector<analysis::steps::StepResult>& results) {
  const analysis::steps::StepResult* widest = nullptr;
  for (const auto& one : results)
    if (one.is_default && one.step.parts == workload::StepParts::all && one.step.ranks.size() > 1 &&
        !one.processes.empty() && one.data != analysis::DataState::wrong &&
        (!widest || one.step.ranks.size() > widest->step.ranks.size()))
      widest = &one;
  return widest;
}

} // namespace

int check_claim(ClaimOptions options, std::ostream& out, std::ostream& err) {
  if (!options.run_file.empty()) {
    auto run = read_run_or_parts(options.run_file, err);
    if (!run)
      return complain(err, k_command, run.error(), base::k_exit_usage);
    const auto pooled = analysis::setting_results(*run);
    const auto results = analysis::steps::step_results(*run, pooled);
    const auto* step = widest_step(results);
    if (!step)
      return complain(err, k_command,
                      {base::Errc::not_found,
                       "this run has no step of training on two ranks or more",
                       "measure one: ncclprobe run --workload ddp --model NAME"},
                      base::k_exit_usage);
    options.claim.exposed_share = step->times.exposed_ns() / step->times.step_ns;
    out << analysis::paragraph("",
                               fmt::format("{}, {} ranks{}", describe_step(*step),
                                           step->step.ranks.size(), analysis::synthetic_mark(*run)),
                               0);
  }
  const auto verdict = analysis::cost_model::judge_claim(options.claim);
  out << analysis::paragraph("", verdict.text, 0);
  return verdict.fits ? base::k_exit_ok : k_exit_claim_fails;
}

} // namespace ncclprobe::cli
