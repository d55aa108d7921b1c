// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/claim_command.h"

#include "analysis/report/heading.h"
#include "analysis/report/text_layout.h"
#include "analysis/steps/step_results.h"
#include "analysis/verdict.h"
#include "base/exit_code.h"
#include "base/units.h"
#include "cli/report_files.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_command = "ncclprobe claim";
constexpr int k_exit_claim_fails = base::k_exit_failures;

using analysis::steps::StepResult;

// The step with default settings at the most ranks; null if the run has none that communicates.
const StepResult* widest_step(const std::vector<StepResult>& results) {
  const StepResult* widest = nullptr;
  for (const auto& one : results)
    if (one.is_default && one.step.parts == workload::StepParts::all && one.step.ranks.size() > 1 &&
        !one.processes.empty() && one.data != analysis::DataState::wrong &&
        (!widest || one.step.ranks.size() > widest->step.ranks.size()))
      widest = &one;
  return widest;
}

// Of that setting, with these parts and on the same ranks; null if the run has it not.
const StepResult* step_of(const std::vector<StepResult>& results, const StepResult& like,
                          const std::string& setting, workload::StepParts parts) {
  for (const StepResult& one : results)
    if (one.setting == setting && one.step.parts == parts && one.step.ranks == like.step.ranks &&
        same_kind(one, like) && one.data != analysis::DataState::wrong && has_times(*one.pooled))
      return &one;
  return nullptr;
}

std::string settings_of(const std::vector<StepResult>& results) {
  std::set<std::string> names;
  for (const StepResult& one : results)
    if (!one.is_default)
      names.insert(one.setting);
  return names.empty() ? "this run has the default alone"
                       : fmt::format("there are: {}", fmt::join(names, ", "));
}

std::string change_in_words(const char* what, const StepResult& from, const StepResult& to) {
  const double before_ns = from.pooled->time_ns, after_ns = to.pooled->time_ns;
  return fmt::format("{} {} -> {} ({:+.1f}%)", what, base::format_duration(before_ns),
                     base::format_duration(after_ns), 100 * (after_ns / before_ns - 1));
}

// Does uncovered communication account for what the step gained or lost? Within a tenth of that, or
// a hundredth of the step.
std::pair<bool, std::string> uncovered_in_words(const StepResult& from, const StepResult& to) {
  const double step_ns = to.times.step_ns - from.times.step_ns;
  const double uncovered_ns = to.times.exposed_ns() - from.times.exposed_ns();
  const bool fits = std::abs(step_ns - uncovered_ns) <=
                    std::max(0.1 * std::abs(step_ns), 0.01 * from.times.step_ns);
  return {fits,
          fmt::format("Uncovered communication went from {} to {}, {:.0f}% of the step's change: "
                      "{}.",
                      base::format_duration(from.times.exposed_ns()),
                      base::format_duration(to.times.exposed_ns()), 100 * uncovered_ns / step_ns,
                      fits ? "the two fit"
                           : "the two do not fit, so something else changed too, such as "
                             "computing beside communication (the report's \"Together\")")};
}

// `compared`: may be null.
std::string not_decided_in_words(const analysis::Comparison* compared) {
  std::string text = "Whether the step changed is not decided";
  if (compared && !compared->why_not_decided.empty())
    text += fmt::format(": {}", compared->why_not_decided);
  text += ". ";
  if (compared && compared->interval)
    text += fmt::format("Its speed is {:.3f} times the default's (95%: {:.3f} to {:.3f}). ",
                        compared->speed_ratio, compared->interval->low, compared->interval->high);
  text += "There is no verdict to check yet";
  const bool too_few =
      !compared || std::min(compared->setting->processes.size(),
                            compared->baseline->processes.size()) < analysis::k_least_processes;
  return text + (too_few ? fmt::format(": it takes {} processes of both (run --repeat {}).",
                                       analysis::k_least_processes, analysis::k_least_processes)
                         : ".");
}

// What the setting did to communication by itself and to the step is the claim.
int check_setting(const std::vector<StepResult>& results,
                  const std::vector<analysis::SettingResult>& pooled, const StepResult& step,
                  const std::string& setting, std::ostream& out, std::ostream& err) {
  using workload::StepParts;
  const auto* after = step_of(results, step, setting, StepParts::all);
  const auto* sync = step_of(results, step, step.setting, StepParts::communication);
  const auto* sync_after = step_of(results, step, setting, StepParts::communication);
  if (!after || after->processes.empty() || !sync || !sync_after)
    return complain(
        err, k_command,
        {base::Errc::not_found,
         fmt::format("this run did not measure '{}' at the {} ranks of its widest step, "
                     "whole and its communication alone",
                     setting, step.step.ranks.size()),
         settings_of(results)},
        base::k_exit_usage);
  const auto verdicts = analysis::judge(pooled);
  const auto* compared = verdicts.of(*after->pooled);
  const auto verdict = compared ? compared->verdict : analysis::Verdict::not_decided;
  auto say = [&](const std::string& text) { out << analysis::paragraph("", text, 0); };
  say(fmt::format("{} against the default: {}, {}; verdict on the step: {}.",
                  analysis::printable(setting),
                  change_in_words("communication by itself", *sync, *sync_after),
                  change_in_words("step", step, *after), model::to_string(verdict)));
  if (verdict == analysis::Verdict::no_difference) {
    say("The step did not change beyond the noise of this run: there is no claim to check.");
    return base::k_exit_ok;
  }
  if (verdict == analysis::Verdict::not_decided) {
    say(not_decided_in_words(compared));
    return base::k_exit_ok;
  }
  const auto claim = analysis::cost_model::judge_claim(
      {sync_after->pooled->time_ns / sync->pooled->time_ns - 1,
       after->pooled->time_ns / step.pooled->time_ns - 1, std::nullopt, std::nullopt});
  const auto [fits, words] = uncovered_in_words(step, *after);
  say(claim.text);
  say(words);
  return claim.possible && fits ? base::k_exit_ok : k_exit_claim_fails;
}

} // namespace

int check_claim(ClaimOptions options, std::ostream& out, std::ostream& err) {
  if (!options.run_file.empty()) {
    auto run = read_summary_or_parts(options.run_file);
    if (!run)
      return complain_of_input(err, k_command, run.error());
    const auto pooled = analysis::setting_results(*run);
    const auto results = analysis::steps::step_results(*run, pooled);
    const auto* step = widest_step(results);
    if (!step)
      return complain(err, k_command,
                      {base::Errc::not_found,
                       "this run has no step of training on two ranks or more",
                       "measure one: ncclprobe run --workload ddp --model NAME"},
                      base::k_exit_usage);
    out << analysis::paragraph("",
                               fmt::format("{}, {} ranks{}", describe_step(*step),
                                           step->step.ranks.size(), analysis::synthetic_mark(*run)),
                               0);
    if (!options.setting.empty())
      return check_setting(results, pooled, *step, options.setting, out, err);
    options.claim.exposed_share = step->times.exposed_ns() / step->times.step_ns;
    options.claim.communication_share = step->times.communication_ns / step->times.step_ns;
  }
  const auto verdict = analysis::cost_model::judge_claim(options.claim);
  out << analysis::paragraph("", verdict.text, 0);
  return verdict.fits ? base::k_exit_ok : k_exit_claim_fails;
}

} // namespace ncclprobe::cli
