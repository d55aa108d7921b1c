// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/claim/claim_command.h"

#include "analysis/report/heading.h"
#include "analysis/steps/step_results.h"
#include "analysis/verdict/verdict.h"
#include "base/exit_code.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "base/units.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_claim_command = "ncclprobe claim";
constexpr int k_exit_claim_fails = base::k_exit_failures;

using analysis::steps::StepResult;

// The step with default settings on the most ranks; null if no step of the run communicates.
const StepResult* widest_step(const std::vector<StepResult>& results) {
  const StepResult* widest = nullptr;
  for (const auto& one : results)
    if (one.is_default && one.step.parts == model::StepParts::all && one.step.ranks.size() > 1 &&
        !one.processes.empty() && one.data != analysis::DataState::wrong &&
        (!widest || one.step.ranks.size() > widest->step.ranks.size()))
      widest = &one;
  return widest;
}

// The step of that setting, with these parts and on the same ranks; null if the run lacks it.
const StepResult* step_of(const std::vector<StepResult>& results, const StepResult& like,
                          const std::string& setting, model::StepParts parts) {
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
  return names.empty() ? "this run only has the default"
                       : fmt::format("there are: {}", fmt::join(names, ", "));
}

std::string change_in_words(const char* what, const StepResult& from, const StepResult& to) {
  const double before_ns = from.pooled->time_ns, after_ns = to.pooled->time_ns;
  return fmt::format("{} {} -> {} ({:+.1f}%)", what, base::format_duration(before_ns),
                     base::format_duration(after_ns), 100 * (after_ns / before_ns - 1));
}

// Whether uncovered communication accounts for the change of the step: within a tenth of that
// change, or a hundredth of the step.
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
                      fits ? "the two agree"
                           : "the two do not agree, so something else changed too, such as "
                             "computing beside communication (the report compares both)")};
}

// `compared`: may be null.
std::string not_decided_in_words(const analysis::Comparison* compared) {
  std::string text = "Whether the step changed is not decided";
  if (compared && compared->why_not_decided)
    text += ": " + in_words(compared->why_not_decided);
  text += ". ";
  if (compared && compared->interval)
    text += fmt::format("Its speed is {:.3f} times the default's (95%: {:.3f} to {:.3f}). ",
                        compared->speed_ratio, compared->interval->low, compared->interval->high);
  text += "There is no verdict to check yet";
  const bool too_few =
      !compared || std::min(compared->setting->processes.size(),
                            compared->baseline->processes.size()) < analysis::k_least_processes;
  return text + (too_few ? fmt::format(": a verdict needs {} processes of both (run --repeat {}).",
                                       analysis::k_least_processes, analysis::k_least_processes)
                         : ".");
}

// The answer to a claim.
struct Answer {
  std::vector<std::string> sentences;
  std::optional<analysis::cost_model::ClaimVerdict> verdict; // unset: there is no claim
  int exit_code = base::k_exit_ok;
};

std::string text_of(const Answer& answer) {
  std::string text;
  for (const std::string& sentence : answer.sentences)
    text += base::paragraph("", sentence, 0);
  return text;
}

std::string json_of(const Answer& answer) {
  nlohmann::ordered_json document;
  auto known = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  document["holds"] = answer.exit_code == base::k_exit_ok;
  if (const auto& verdict = answer.verdict) {
    document["possible"] = verdict->possible;
    document["fits"] = verdict->fits;
    document["implied_share"] = known(verdict->implied_share);
    document["least_step_change"] = known(verdict->least_step_change);
    document["most_step_change"] = known(verdict->most_step_change);
  }
  document["text"] = answer.sentences;
  return document.dump(1) + "\n";
}

// Takes the setting's changes of communication alone and of the step as the claim.
Result<void> check_setting(const std::vector<StepResult>& results,
                           const std::vector<analysis::SettingResult>& pooled,
                           const StepResult& step, const std::string& setting, Answer& answer) {
  using model::StepParts;
  const auto* after = step_of(results, step, setting, StepParts::all);
  const auto* sync = step_of(results, step, step.setting, StepParts::communication);
  const auto* sync_after = step_of(results, step, setting, StepParts::communication);
  if (!after || after->processes.empty() || !sync || !sync_after)
    return fail({Errc::not_found,
                 fmt::format("this run lacks '{}' at the {} ranks of its widest step: it needs the "
                             "whole step and its communication alone",
                             setting, step.step.ranks.size()),
                 settings_of(results)});
  const auto verdicts = analysis::judge(pooled);
  const auto* compared = verdicts.of(*after->pooled);
  const auto verdict = compared ? compared->verdict : analysis::Verdict::not_decided;
  auto say = [&](std::string text) { answer.sentences.push_back(std::move(text)); };
  say(fmt::format("{} compared with the default: {}, {}; verdict on the step: {}.",
                  base::printable(setting),
                  change_in_words("communication alone", *sync, *sync_after),
                  change_in_words("step", step, *after), model::to_string(verdict)));
  if (verdict == analysis::Verdict::no_difference) {
    say("The step did not change beyond the noise of this run: there is no claim to check.");
    return {};
  }
  if (verdict == analysis::Verdict::not_decided) {
    say(not_decided_in_words(compared));
    return {};
  }
  const auto claim = analysis::cost_model::judge_claim(
      {sync_after->pooled->time_ns / sync->pooled->time_ns - 1,
       after->pooled->time_ns / step.pooled->time_ns - 1, std::nullopt, std::nullopt});
  const auto [fits, words] = uncovered_in_words(step, *after);
  say(claim.text);
  say(words);
  answer.verdict = claim;
  answer.exit_code = claim.possible && fits ? base::k_exit_ok : k_exit_claim_fails;
  return {};
}

} // namespace

int check_claim(ClaimOptions options) {
  if (auto possible = check_output(options.output, {options.run_file}); !possible)
    return complain_of_output(k_claim_command, possible.error());
  Answer answer;
  auto finish = [&] {
    return deliver(options.format == "json" ? json_of(answer) : text_of(answer), options.output,
                   answer.exit_code);
  };
  if (!options.run_file.empty()) {
    auto run = read_summary_or_parts(options.run_file);
    if (!run)
      return complain_of_input(k_claim_command, run.error());
    const auto pooled = analysis::setting_results(*run);
    const auto results = analysis::steps::step_results(*run, pooled);
    const auto* step = widest_step(results);
    if (!step)
      return complain(k_claim_command,
                      {Errc::not_found, "this run has no step of training on two ranks or more",
                       "measure one: ncclprobe run --workload ddp --model NAME"},
                      base::k_exit_usage);
    answer.sentences.push_back(fmt::format("{}, {} ranks{}", describe_step(*step),
                                           step->step.ranks.size(),
                                           analysis::synthetic_mark(*run)));
    if (!options.setting.empty()) {
      if (auto checked = check_setting(results, pooled, *step, options.setting, answer); !checked)
        return complain(k_claim_command, checked.error(), base::k_exit_usage);
      return finish();
    }
    options.claim.exposed_share = step->times.exposed_ns() / step->times.step_ns;
    options.claim.communication_share = step->times.communication_ns / step->times.step_ns;
  }
  answer.verdict = analysis::cost_model::judge_claim(options.claim);
  answer.sentences.push_back(answer.verdict->text);
  answer.exit_code = answer.verdict->fits ? base::k_exit_ok : k_exit_claim_fails;
  return finish();
}

} // namespace ncclprobe::cli
