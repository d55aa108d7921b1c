// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/tuning_report.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/export_line.h"
#include "analysis/statistics/inference.h"
#include "analysis/tune/choice_map.h"
#include "analysis/tune/disturbance_section.h"
#include "analysis/tune/environment_section.h"
#include "analysis/tune/explanation_section.h"
#include "analysis/tune/failure_table.h"
#include "analysis/tune/space_section.h"
#include "analysis/tune/trial_table.h"
#include "base/stored_variables.h"
#include "base/units.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::tune {

using search::Decision;
using search::Fate;

namespace {

constexpr int k_hang = 12;

constexpr FindingKind k_use{
    "use_settings", Severity::note,
    "Use {settings}: {speed:.3f}x the default's speed, {confidence:.0f}% interval {low:.3f} to "
    "{high:.3f}, in {processes} fresh processes that had no part in choosing."};
constexpr FindingKind k_remove{
    "remove_variables", Severity::warning,
    "Remove these from the environment: {variables}. That is {speed:.3f}x the speed of the "
    "environment as it is, {confidence:.0f}% interval {low:.3f} to {high:.3f}, in {processes} "
    "fresh "
    "processes that had no part in choosing."};
constexpr FindingKind k_keep_environment{
    "keep_environment", Severity::note,
    "Keep the environment: no removal of its variables is shown to gain more than {gain:.1f}%."};
constexpr FindingKind k_no_effect{"variables_without_effect", Severity::note,
                                  "These variables of the environment change nothing here: "
                                  "{variables}."};
constexpr FindingKind k_keep{"keep_defaults", Severity::note,
                             "Keep the defaults: none of {candidates} candidates is shown to be "
                             "faster by more than {gain:.1f}%."};
constexpr FindingKind k_nothing_compared{
    "nothing_compared", Severity::warning,
    "Nothing was compared: the trials of the default alone took {spent}, and the budget is "
    "{budget}. Give more time with --budget."};
constexpr FindingKind k_default_failed{
    "default_failed", Severity::error,
    "Nothing can be compared: the default itself failed repeatedly. `ncclprobe report` of the run "
    "file says why."};
constexpr FindingKind k_not_confirmed{
    "delivery_not_confirmed", Severity::warning,
    "Keep the defaults: {settings} won the search, but did not win again as delivered."};
constexpr FindingKind k_delivery_failed{
    "delivery_failed", Severity::warning,
    "Keep the defaults: {settings} won the search, but failed as delivered: {outcome}."};
constexpr FindingKind k_proof_disturbed{
    "proof_disturbed", Severity::warning,
    "Keep the defaults: {settings} won the search, but the default was disturbed or failed during "
    "the proof. Too few other trials are left to prove the delivery. Repeat it on an idle machine, "
    "or give more time for repeats with --budget."};
constexpr FindingKind k_proof_repeated{
    "proof_repeated", Severity::note,
    "The default was disturbed or failed during the proof. {rejected} of the proof's trials do not "
    "count, and {repeated} of these were repeated."};
constexpr FindingKind k_unfinished{"not_complete", Severity::warning,
                                   "The search was not completed, so a faster setting may exist. "
                                   "Give more time with --budget. Candidates not fully measured: "
                                   "{left}."};
constexpr FindingKind k_left_out{"left_out", Severity::note,
                                 "Left out, no effect: {settings}. The fastest combination had "
                                 "them, but is not shown to be slower without them."};
constexpr FindingKind k_not_left_out{
    "effects_not_checked", Severity::note,
    "There was no time to leave out each variable in turn, so some of these may have no effect. "
    "More time (--budget) finds out."};

std::string_view in_words(Fate fate) {
  switch (fate) {
  case Fate::won:
    return "won";
  case Fate::not_proven:
    return "not shown to be faster";
  case Fate::not_chosen:
    return "others were faster";
  case Fate::estimated_slower:
    return "estimated to be slower";
  case Fate::stopped:
    return "shown to be slower";
  case Fate::needless:
    return "as fast with fewer changes";
  case Fate::halved:
    return "among the slower half";
  case Fate::failed:
    return "failed";
  case Fate::unfinished:
    return "the search ended first";
  }
  return "";
}

std::int64_t candidates_tried(const search::Outcome& outcome) {
  std::set<search::Candidate> tried;
  for (const search::Reason& one : outcome.reasons)
    tried.insert(one.candidate);
  return static_cast<std::int64_t>(tried.size());
}

Section answer_section(const Tuning& tuning) {
  Section section{"answer"};
  section.part = Section::Part::answer;
  const search::Outcome& outcome = tuning.outcome;
  std::vector<Finding> findings;
  if (!tuning.measured) {
    findings = preparation_findings(tuning);
  } else if (is_recommended(tuning)) {
    const RatioTest& all = *tuning.proof->all;
    const std::vector<model::Setting> set = without_removed(tuning.delivered);
    const std::vector<std::string> removed = removed_variables(tuning.delivered);
    findings.push_back(
        {set.empty() ? &k_remove : &k_use,
         {{"settings",
           model::label_of(set) + (removed.empty() ? "" : " without " + join(removed, ", "))},
          {"variables", removed_in_words(tuning)},
          {"speed", six_digits(all.ratio)},
          {"low", six_digits(all.interval.low)},
          {"high", six_digits(all.interval.high)},
          {"confidence", 100 * k_confidence},
          {"processes", tuning.proof->delivery_processes}}});
  } else if (!tuning.delivered.empty()) {
    const bool failed = tuning.proof && tuning.proof->outcome != model::OutcomeKind::ok;
    const bool disturbed = tuning.proof && tuning.proof->disturbed;
    findings.push_back({failed      ? &k_delivery_failed
                        : disturbed ? &k_proof_disturbed
                                    : &k_not_confirmed,
                        {{"settings", model::label_of(tuning.delivered)}}});
    if (failed)
      findings.back().values.emplace_back("outcome", analysis::in_words(tuning.proof->outcome));
  } else if (outcome.default_failed) {
    findings.push_back({&k_default_failed});
  } else if (candidates_tried(outcome) == 0 && !outcome.complete) {
    findings.push_back({&k_nothing_compared,
                        {{"spent", base::format_duration(1e9 * outcome.seconds)},
                         {"budget", base::format_duration(1e9 * tuning.budget_s)}}});
  } else if (tuning.only_environment) {
    findings.push_back({&k_keep_environment, {{"gain", 100 * tuning.min_gain}}});
  } else {
    findings.push_back(
        {&k_keep, {{"candidates", candidates_tried(outcome)}, {"gain", 100 * tuning.min_gain}}});
  }
  if (is_recommended(tuning)) {
    if (const auto left_out = without_effect(tuning.space, outcome); !left_out.empty())
      findings.push_back({&k_left_out, {{"settings", model::label_of(left_out)}}});
    if (!outcome.each_change_counts)
      findings.push_back({&k_not_left_out});
  }
  if (tuning.measured && !outcome.complete && !outcome.default_failed &&
      candidates_tried(outcome) > 0)
    findings.push_back(
        {&k_unfinished,
         {{"left", static_cast<std::int64_t>(std::ranges::count(outcome.reasons, Fate::unfinished,
                                                                &search::Reason::fate))}}});
  std::ranges::move(disturbance_findings(tuning), std::back_inserter(findings));
  if (tuning.proof && tuning.proof->rejected > 0)
    findings.push_back(
        {&k_proof_repeated,
         {{"rejected", tuning.proof->rejected}, {"repeated", tuning.proof->repeated}}});
  if (const auto names = without_effect(tuning); !names.empty())
    findings.push_back({&k_no_effect, {{"variables", join(names, ", ")}}});
  if (tuning.synthetic)
    findings.push_back({&k_synthetic_numbers});
  section.blocks.push_back(Findings{"Answer", std::move(findings), k_hang});
  if (is_recommended(tuning) && !tuning.variables.empty())
    section.blocks.push_back(Code{shell_lines(tuning.variables), k_hang});
  return section;
}

struct TargetRow {
  const search::Space* space;
  const search::Target* target;
  const Decision* decision;
  const std::optional<RatioTest>* proof; // null: none was made
};

TablePtr target_table(const Tuning& tuning) {
  std::vector<TargetRow> rows;
  for (std::size_t i = 0; i < tuning.outcome.table.size(); ++i)
    rows.push_back({&tuning.space, &tuning.space.targets[i], &tuning.outcome.table[i],
                    tuning.proof ? &tuning.proof->each[i] : nullptr});
  TableOf<TargetRow> table(std::move(rows));
  using Row = const TargetRow&;
  auto proven = [](Row row) { return row.proof && *row.proof ? &**row.proof : nullptr; };
  table.add("target", [](Row row) { return row.target->name; }).titled("target").left(30);
  table.add("bytes", [](Row row) { return row.target->bytes; });
  table.add("weight", [](Row row) { return row.target->weight; });
  table.add("settings", [](Row row) { return to_text(*row.space, row.decision->candidate); })
      .titled("fastest that is proven")
      .left(40);
  table.add("proven", [](Row row) { return row.decision->proven; });
  table.add("speed_ratio", [](Row row) { return six_digits(row.decision->over_default.speed); })
      .titled("speed", {Unit::ratio, 3});
  table
      .add("interval",
           [](Row row) {
             const bool is_default = row.decision->candidate == default_candidate(*row.space);
             return is_default ? Value() : interval_value(row.decision->over_default.interval);
           })
      .titled(fmt::format("{:.0f}% interval", 100 * k_confidence), {Unit::fixed, 3})
      .interval();
  table.add("needed", [](Row row) { return six_digits(row.decision->needed); })
      .titled("needed", {Unit::ratio});
  table.add("floor", [](Row row) { return six_digits(row.decision->floor); })
      .titled("A/A floor", {Unit::ratio})
      .dispensable(1);
  table.add("processes", [](Row row) { return row.decision->over_default.processes; })
      .titled("processes")
      .dispensable(2);
  table
      .add("delivered_speed_ratio",
           [proven](Row row) {
             return proven(row) ? std::optional(six_digits(proven(row)->ratio)) : std::nullopt;
           })
      .titled("as delivered", {Unit::ratio, 3})
      .if_any();
  table
      .add("delivered_interval",
           [proven](Row row) {
             return proven(row) ? interval_value(proven(row)->interval) : Value();
           })
      .titled("its interval", {Unit::fixed, 3})
      .interval()
      .if_any();
  return table.table();
}

struct ReasonRow {
  const search::Space* space;
  const search::Reason* reason;
  std::optional<steps::StepTimes> step; // its parts
};

// Of all targets together there are none, unless there is only one.
std::optional<steps::StepTimes> step_of(const Tuning& tuning, const search::Reason& reason) {
  if (!reason.target && tuning.space.targets.size() > 1)
    return std::nullopt;
  return tuning.step_times.of(reason.target.value_or(0), reason.candidate);
}

TablePtr candidate_table(const Tuning& tuning) {
  std::vector<ReasonRow> rows;
  for (const search::Reason& reason : tuning.outcome.reasons)
    rows.push_back({&tuning.space, &reason, step_of(tuning, reason)});
  TableOf<ReasonRow> table(std::move(rows));
  using Row = const ReasonRow&;
  table.add("candidate", [](Row row) { return to_text(*row.space, row.reason->candidate); })
      .titled("candidate")
      .left(44);
  table
      .add("target",
           [](Row row) {
             return row.reason->target ? std::optional(row.space->targets[*row.reason->target].name)
                                       : std::nullopt;
           })
      .titled("for")
      .left(24)
      .if_any();
  table
      .add("speed_ratio",
           [](Row row) {
             return row.reason->fate == Fate::failed ? std::nullopt
                                                     : std::optional(six_digits(row.reason->speed));
           })
      .titled("speed", {Unit::ratio, 3});
  table.add("interval", [](Row row) { return interval_value(row.reason->interval); })
      .titled("interval", {Unit::fixed, 3})
      .interval()
      .if_any();
  table.add("needed", [](Row row) { return six_digits(row.reason->needed); })
      .titled("needed", {Unit::ratio})
      .dispensable(1);
  table.add("stage", [](Row row) { return row.reason->stage; })
      .titled("stage")
      .left()
      .dispensable(2);
  table.add("processes", [](Row row) { return row.reason->processes; })
      .titled("processes")
      .dispensable(3);
  auto add_part = [&](const char* key, const char* title, double steps::StepTimes::*part) {
    table.add(key, [part](Row row) {
      return row.step ? std::optional(six_digits((*row.step).*part)) : std::nullopt;
    });
    table
        .show(title,
              [part](Row row) {
                return row.step ? std::optional((*row.step).*part / 1e6) : std::nullopt;
              },
              {Unit::fixed, 3})
        .if_any()
        .dispensable(2);
  };
  add_part("computing_ns", "computing ms", &steps::StepTimes::compute_ns);
  add_part("exposed_wait_ns", "wait ms", &steps::StepTimes::exposed_wait_ns);
  add_part("exposed_transfer_ns", "transfer ms", &steps::StepTimes::exposed_transfer_ns);
  table.add("fate", [](Row row) { return row.reason->fate; });
  table.add("outcome", [](Row row) { return row.reason->outcome; });
  table
      .add("result",
           [](Row row) {
             return row.reason->fate == Fate::failed ? analysis::in_words(row.reason->outcome)
                                                     : std::string(in_words(row.reason->fate));
           })
      .titled("result")
      .left();
  return table.table();
}

// People see those that came far. failure_table() has those that failed; the others were only
// slower.
bool cannot_run_here(const search::Reason& one) {
  return one.fate == Fate::failed && one.outcome == model::OutcomeKind::skipped;
}

std::vector<std::size_t> telling_rows(const search::Outcome& outcome) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < outcome.reasons.size(); ++i) {
    const Fate fate = outcome.reasons[i].fate;
    if (fate == Fate::won || fate == Fate::not_proven || fate == Fate::not_chosen ||
        fate == Fate::estimated_slower)
      rows.push_back(i);
  }
  return rows;
}

Object data_of(const Tuning& tuning, const TablePtr& targets, const TablePtr& candidates) {
  const search::Outcome& outcome = tuning.outcome;
  Object data{{"schema", "ncclprobe.tuning"},
              {"schema_version", 2},
              {"recommended", is_recommended(tuning)},
              {"settings", without_removed(tuning.delivered)},
              {"remove", removed_variables(tuning.delivered)},
              {"synthetic", tuning.synthetic},
              {"measured", tuning.measured},
              {"complete", outcome.complete},
              {"min_gain", tuning.min_gain},
              {"candidates_tried", candidates_tried(outcome)},
              {"trials", outcome.trials},
              {"seconds", six_digits(outcome.seconds)},
              {"ran", trial_table(tuning)},
              {"disturbances", disturbance_table(tuning)},
              {"targets", targets},
              {"candidates", candidates},
              {"failures", failure_table(tuning)},
              {"regret", choice_map(tuning)},
              {"each_change_counts", outcome.each_change_counts},
              {"changes", change_table(tuning)},
              {"choices", choices_table(tuning)},
              {"in_process", in_process_table(tuning)},
              {"step_parts", step_parts_table(tuning)},
              {"parameters", parameter_table(tuning)},
              {"transports", tuning.transports},
              {"notes", tuning.notes},
              {"pinned", tuning.pinned},
              {"environment", environment_table(tuning)},
              {"not_in_space", tuning.not_in_space},
              {"files", tuning.files}};
  if (tuning.forecast)
    data.emplace_back("forecast", Object{{"trial_seconds", six_digits(tuning.forecast->trial_s)},
                                         {"stages", forecast_table(*tuning.forecast)}});
  if (tuning.proof)
    data.emplace_back(
        "proof",
        Object{
            {"holds", tuning.proof->holds()},
            {"speed_ratio", tuning.proof->all ? std::optional(six_digits(tuning.proof->all->ratio))
                                              : std::nullopt},
            {"interval", tuning.proof->all ? interval_value(tuning.proof->all->interval) : Value()},
            {"default_processes", tuning.proof->default_processes},
            {"delivery_processes", tuning.proof->delivery_processes},
            {"rejected_trials", tuning.proof->rejected},
            {"repeated_trials", tuning.proof->repeated},
            {"wrong_data", tuning.proof->wrong_data},
            {"outcome", tuning.proof->outcome}});
  return data;
}

} // namespace

std::vector<model::Setting> without_effect(const search::Space& space,
                                           const search::Outcome& outcome) {
  std::vector<model::Setting> settings;
  for (const search::LeftOut& one : outcome.left_out) {
    const search::Parameter& parameter = space.parameters[one.parameter];
    const std::string& value = parameter.values[static_cast<std::size_t>(one.value)];
    if (value != base::k_value_unset)
      settings.push_back({parameter.name, value});
  }
  return settings;
}

bool is_recommended(const Tuning& tuning) {
  return !tuning.delivered.empty() && tuning.proof && tuning.proof->holds();
}

Report tuning_report(const Tuning& given) {
  const auto tuning = std::make_shared<const Tuning>(given);
  const TablePtr targets = target_table(*tuning);
  const TablePtr candidates = candidate_table(*tuning);
  Report report;
  report.sections.push_back(answer_section(*tuning));
  if (tuning->measured)
    report.sections.push_back({"targets", "What was tuned", {View{targets}}});
  if (candidates->rows > 0) {
    auto rows = telling_rows(tuning->outcome);
    Section tried{"candidates", "Candidates, and why each won or lost"};
    const auto impossible =
        static_cast<std::size_t>(std::ranges::count_if(tuning->outcome.reasons, cannot_run_here));
    const auto failed = static_cast<std::size_t>(
        std::ranges::count(tuning->outcome.reasons, Fate::failed, &search::Reason::fate));
    if (const std::size_t slower = candidates->rows - rows.size() - failed; slower > 0)
      tried.add(
          "",
          fmt::format("{} more were slower and dropped early. {} has all.", slower, k_report_file),
          2);
    if (impossible > 0)
      tried.add("", fmt::format("{} are not offered by the library here.", impossible), 2);
    tried.blocks.push_back(
        View{.table = candidates, .rows = std::move(rows), .most_rows = k_rows_shown});
    if (const TablePtr map = candidate_map(*tuning); map->rows > 0)
      tried.charts.push_back({.kind = ChartKind::heat_map,
                              .title = "Choices in process, as screened",
                              .table = map,
                              .x = "candidate",
                              .y = "target",
                              .value = "speed_ratio"});
    report.sections.push_back(std::move(tried));
  }
  if (const TablePtr table = failure_table(*tuning); table->rows > 0)
    report.sections.push_back(
        {"failures", "Candidates that failed or had no effect, and why", {View{table}}});
  if (const TablePtr table = disturbance_table(*tuning); table->rows > 0)
    report.sections.push_back(
        {"disturbances", "Trials in which the default was disturbed", {View{table}}});
  if (const TablePtr map = choice_map(*tuning); map->rows > 0) {
    report.sections.push_back(
        {"regret",
         "By how much the library's own choice was slower than others, as screened",
         {View{map}}});
  }
  Section why{"why", "What settings changed"};
  for (const TablePtr& table :
       {change_table(*tuning), choices_table(*tuning), step_parts_table(*tuning)})
    if (table->rows > 0)
      why.blocks.push_back(View{table});
  if (!why.blocks.empty())
    report.sections.push_back(std::move(why));
  if (const TablePtr table = in_process_table(*tuning); table->rows > 0)
    report.sections.push_back(
        {"in_process", "Speed within a process against fresh processes", {View{table}}});
  if (!tuning->environment.empty())
    report.sections.push_back(
        {"environment", "Variables of the environment", {View{environment_table(*tuning)}}});
  if (tuning->forecast)
    report.sections.push_back(
        {"forecast", "Expected use of the budget", {View{forecast_table(*tuning->forecast)}}});
  report.sections.push_back(space_section(*tuning));
  Section files{"files", "Files"};
  for (const std::string& file : tuning->files)
    files.add("", (tuning->folder / file).string(), 2);
  if (!tuning->files.empty())
    report.sections.push_back(std::move(files));
  report.data = data_of(*tuning, targets, candidates);
  report.rows = candidates;
  report.figures.push_back(tuning);
  return report;
}

} // namespace ncclprobe::analysis::tune
