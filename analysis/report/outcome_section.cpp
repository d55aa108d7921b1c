// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/outcome_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/problems.h"
#include "analysis/report/verdict_section.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using model::OutcomeKind;
using model::TrialRecord;

constexpr int k_outcome_hang = 13;
constexpr std::size_t k_most_failures_named = 3;

constexpr FindingKind k_trials_failed{"trials_failed", Severity::error,
                                      "{failed} of {trials} did not succeed: {how}.{rest}"},
    k_cells_missing{"cells_missing", Severity::warning,
                    "{failed} of {trials} did not measure everything: {how}."},
    k_trials_missing{"trials_missing", Severity::warning,
                     "The run is unfinished: {measured} of {planned} trials were measured."},
    k_failure_advice{"failure_advice", Severity::note, "{advice}"},
    k_read_output{"read_output", Severity::note,
                  "Read the reasons, and what the workers wrote last."},
    k_retry{"retry_failed", Severity::note,
            "Then run these trials again: ncclprobe run --resume with the run file, and "
            "--retry-failed."},
    k_resume{"resume", Severity::note,
             "Measure the rest: ncclprobe run --resume with the run file."},
    k_all_ok{"all_ok", Severity::note, "{trials} succeeded{data}."},
    k_floor{"noise_floor", Severity::note, "A/A noise floor: {floor}."},
    k_more_processes{"more_processes", Severity::note,
                     "To compare this run with another one, measure {least} processes of each cell "
                     "(--repeat {least}): {processes} of a cell show too little of the scatter."};

bool may_run_again(OutcomeKind kind) {
  return kind == OutcomeKind::failed || kind == OutcomeKind::timed_out ||
         kind == OutcomeKind::crashed;
}

// "trials 2, 5 with default: timed out on rank 1".
std::string group_in_words(const ProblemGroup& group) {
  std::vector<std::string> ids;
  for (const TrialRecord* trial : group)
    ids.push_back(std::to_string(trial->spec.id));
  if (ids.size() > k_most_failures_named) {
    ids.resize(k_most_failures_named);
    ids.emplace_back("...");
  }
  const TrialRecord& first = *group.front();
  return fmt::format("{} {} with {}: {}{}", group.size() == 1 ? "trial" : "trials", join(ids, ", "),
                     printable(first.spec.label()), in_words(first.outcome.kind),
                     on_ranks(first.outcome.ranks));
}

std::string groups_in_words(const std::vector<ProblemGroup>& groups) {
  std::vector<std::string> texts;
  for (const ProblemGroup& group : groups)
    if (texts.size() < k_most_failures_named)
      texts.push_back(group_in_words(group));
  std::string text = join(texts, "; ");
  return groups.size() > texts.size()
             ? fmt::format("{}; and {} more", text, groups.size() - texts.size())
             : text;
}

Findings failure_advice_of(const model::Run& run, const std::vector<ProblemGroup>& groups) {
  Findings todo{"What to do", {}, k_outcome_hang, {k_problem_section, "The failures, one by one"}};
  std::vector<std::string> said;
  for (const ProblemGroup& group : groups) {
    std::string text = advice(*group.front(), run.header.backend);
    text.erase(text.find_last_not_of(' ') + 1);
    if (!text.empty() && said.size() < k_most_failures_named &&
        std::ranges::find(said, text) == said.end())
      said.push_back(std::move(text));
  }
  for (const std::string& text : said)
    todo.all.push_back({&k_failure_advice, {{"advice", text}}});
  if (said.empty())
    todo.all.push_back({&k_read_output});
  if (run.header.imported.empty() && std::ranges::any_of(groups, [](const ProblemGroup& group) {
        return may_run_again(group.front()->outcome.kind);
      }))
    todo.all.push_back({&k_retry});
  return todo;
}

// ", and their data is right"; of steps and copies too.
std::string data_in_words(const RunFigures& figures, bool one_trial) {
  const auto all = figures.results.size();
  const auto checked = static_cast<std::size_t>(
      std::ranges::count(figures.results, DataState::checked, &SettingResult::data));
  const char* whose = one_trial ? "its" : "their";
  if (checked == all)
    return fmt::format(", and {} data is right", whose);
  if (checked == 0)
    return fmt::format("; {} data was not checked", whose);
  return fmt::format("; the data of {} of {} cells was checked, and is right", checked, all);
}

Section good_outcome(const RunFigures& figures) {
  Section section{.key = "outcome", .part = Section::Part::answer, .only_on_pages = true};
  const RunSummary& run = figures.run;
  const bool one_trial = run.trials.size() == 1;
  Findings answer{"Answer",
                  {{&k_all_ok,
                    {{"trials", one_trial ? std::string("The trial")
                                          : fmt::format("All {} trials", run.trials.size())},
                     {"data", data_in_words(figures, one_trial)}}}},
                  k_outcome_hang};
  if (std::string floor = floor_text(figures.verdicts.floors); !floor.empty())
    answer.all.push_back({&k_floor, {{"floor", floor}}});
  if (is_synthetic(run))
    answer.all.push_back({&k_of_synthetic_numbers, {}});
  section.blocks.push_back(std::move(answer));
  const auto fewest = std::ranges::min_element(figures.results, {}, [](const SettingResult& one) {
                        return one.processes.size();
                      })->processes.size();
  if (fewest < static_cast<std::size_t>(k_least_processes) && run.header.imported.empty())
    section.blocks.push_back(Findings{
        "What to do",
        {{&k_more_processes,
          {{"least", k_least_processes}, {"processes", count_of(fewest, "process", "processes")}}}},
        k_outcome_hang});
  return section;
}

} // namespace

Section failure_section(const model::Run& run) {
  Section section{.key = "outcome", .part = Section::Part::answer, .only_on_pages = true};
  const std::vector<ProblemGroup> groups = problem_groups(run);
  const auto planned = static_cast<std::size_t>(std::max(run.header.planned_trials, 0));
  const bool unfinished = run.trials.size() < planned && !run.trials.empty();
  std::size_t failed = 0;
  bool any_failed = false;
  for (const ProblemGroup& group : groups) {
    failed += group.size();
    any_failed = any_failed || group.front()->outcome.kind > OutcomeKind::not_run;
  }
  if (failed > 0) {
    Findings found{any_failed ? "Failures" : "Incomplete",
                   {{any_failed ? &k_trials_failed : &k_cells_missing,
                     {{"failed", failed},
                      {"trials", count_of(run.trials.size(), "trial", "trials")},
                      {"how", groups_in_words(groups)},
                      {"rest", any_failed && failed < run.trials.size()
                                   ? " The figures below are from the others."
                                   : ""}}}},
                   k_outcome_hang};
    section.blocks.push_back(std::move(found));
    section.blocks.push_back(failure_advice_of(run, groups));
  }
  if (unfinished) {
    section.blocks.push_back(
        Findings{"Unfinished",
                 {{&k_trials_missing, {{"measured", run.trials.size()}, {"planned", planned}}}},
                 k_outcome_hang});
    section.blocks.push_back(Findings{"What to do", {{&k_resume}}, k_outcome_hang});
  }
  return section;
}

Section outcome_section(const RunFigures& figures) {
  Section section = failure_section(figures.run);
  return section.blocks.empty() && figures.settings.empty() && !figures.results.empty()
             ? good_outcome(figures)
             : section;
}

} // namespace ncclprobe::analysis
