// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/bisect/bisect_report.h"

#include "analysis/report/heading.h"
#include "analysis/statistics/inference.h"
#include "base/printable.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::analysis {
namespace {

constexpr FindingKind k_slower{
    "slower", Severity::error,
    "{version} is the first slower one: {change} against {first}. {before} is the last good one."};
constexpr FindingKind k_fails{
    "fails", Severity::error,
    "{version} is the first that fails: it {how}. {before} is the last good one."};
constexpr FindingKind k_same{
    "same", Severity::note,
    "{last} is not slower than {first}: a slowdown of {least} is excluded."};
constexpr FindingKind k_open{
    "undecided", Severity::warning,
    "Not decided: {pairs} pairs neither show nor exclude that {last} is slower than {first} by "
    "{least}."};

constexpr FindingKind k_between{
    "undecided_between", Severity::warning,
    "The first bad version comes after {good}, and is {bad} at the latest. {pairs} pairs did not "
    "decide whether {version} is slower."};
constexpr FindingKind k_cumulative{
    "cumulative", Severity::warning,
    "{last} lost more than {version} did: {total} against {change}. The rest came in other steps, "
    "each smaller than half of it; bisect the versions after {version}, or before it, to find "
    "them."};

std::string_view in_words(VersionFailure failure) {
  switch (failure) {
  case VersionFailure::cannot_start:
    return "cannot start";
  case VersionFailure::failed:
    return "returns an error";
  case VersionFailure::crashed:
    return "crashes";
  case VersionFailure::hung:
    return "hangs";
  case VersionFailure::wrong_data:
    return "delivers wrong data";
  }
  return "";
}

VersionFailure failure_of(const model::TrialRecord& trial) {
  // The first cell is called crashed even if its worker ended before it began the cell.
  const bool nothing_began =
      !trial.workers.empty() &&
      std::ranges::all_of(trial.workers, [](const auto& worker) { return worker.last_cell < 0; });
  const bool nothing_ran =
      nothing_began || std::ranges::all_of(trial.cells, [](const model::CellRecord& cell) {
        return cell.outcome.kind == model::OutcomeKind::not_run;
      });
  switch (trial.outcome.kind) {
  case model::OutcomeKind::timed_out:
    return VersionFailure::hung;
  case model::OutcomeKind::wrong_data:
    return VersionFailure::wrong_data;
  case model::OutcomeKind::crashed:
    return nothing_ran ? VersionFailure::cannot_start : VersionFailure::crashed;
  default:
    return nothing_ran ? VersionFailure::cannot_start : VersionFailure::failed;
  }
}

// Without the places and stacks of its ranks, which JSON has.
std::string first_clause(const std::string& reason) {
  return base::printable(reason.substr(0, reason.find("; ")));
}

struct BisectRow {
  std::string path;
  const FailedVersion* failure = nullptr;
  StepComparison comparison;
  std::optional<Estimate> ratio;
};

std::string change_text(const BisectRow& row) {
  auto percent = [](double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); };
  const Interval* interval = telling(*row.ratio);
  return percent(row.ratio->value) +
         (interval == nullptr
              ? ""
              : fmt::format(" [{}, {}]", percent(interval->low), percent(interval->high)));
}

Finding bisect_answer(const Bisection& all, const std::vector<BisectRow>& rows) {
  const StepSearch& search = all.search;
  auto path = [&](std::size_t version) { return base::printable(all.versions[version]); };
  const std::string least = fmt::format("{:g}%", 100 * all.least);
  if (const auto bad = search.first_bad()) {
    const auto row = std::ranges::find_if(
        rows, [&](const BisectRow& one) { return one.comparison.version == *bad; });
    if (row->comparison.answer == StepAnswer::failed)
      return {
          &k_fails,
          {{"version", path(*bad)},
           {"before", path(*bad - 1)},
           {"how", std::string(row->failure ? in_words(row->failure->failure) : "has no times")},
           {"failure", row->failure ? Value(row->failure->failure) : Value()},
           {"reason", row->failure ? row->failure->reason : ""}}};
    return {&k_slower,
            {{"version", path(*bad)},
             {"change", change_text(*row)},
             {"first", path(0)},
             {"before", path(*bad - 1)}}};
  }
  const StepComparison& last = search.comparisons().back();
  if (const auto between = search.narrowed_to())
    return {&k_between,
            {{"good", path(between->first)},
             {"bad", path(between->second)},
             {"pairs", last.ratios.size()},
             {"version", path(last.version)}}};
  Object values{{"last", path(last.version)}, {"first", path(0)}, {"least", least}};
  if (last.answer == StepAnswer::same)
    return {&k_same, values};
  values.emplace_back("pairs", last.ratios.size());
  return {&k_open, values};
}

// Versions are judged against half of the last one's loss. So the first bad one may have only a
// part of it: other versions lost the rest, little by little.
std::optional<Finding> cumulative_loss(const Bisection& all, const std::vector<BisectRow>& rows) {
  const auto bad = all.search.first_bad();
  const BisectRow& last = rows.front(); // the search begins with it
  const auto row = std::ranges::find_if(
      rows, [&](const BisectRow& one) { return bad && one.comparison.version == *bad; });
  if (row == rows.end() || last.comparison.version == *bad || !row->ratio || !last.ratio)
    return std::nullopt;
  const Interval *of_bad = telling(*row->ratio), *of_last = telling(*last.ratio);
  if (!of_bad || !of_last || of_bad->high >= of_last->low)
    return std::nullopt;
  return Finding{&k_cumulative,
                 {{"last", base::printable(last.path)},
                  {"version", base::printable(row->path)},
                  {"total", change_text(last)},
                  {"change", change_text(*row)}}};
}

struct ChoiceRow {
  std::string path;
  const char* side;
  std::vector<Use> uses;
};

// How the library ran the cell in the last good version and in the first bad one.
TablePtr choice_table(const Bisection& all) {
  std::vector<ChoiceRow> rows;
  auto add = [&](const char* side, std::size_t version) {
    if (const auto found = all.choices.find(version);
        found != all.choices.end() && !found->second.empty())
      rows.push_back({all.versions[version], side, found->second});
  };
  if (const auto bad = all.search.first_bad()) {
    add("good", *bad - 1);
    add("bad", *bad);
  }
  TableOf<ChoiceRow> table(std::move(rows));
  table.add("version", &ChoiceRow::path).titled("version").left(40);
  table.add("side", &ChoiceRow::side).titled("side").left();
  table
      .add("choices",
           [](const ChoiceRow& row) {
             List list;
             for (const Use& one : row.uses)
               list.emplace_back(Object{{"algorithm", one.algorithm},
                                        {"protocol", one.protocol},
                                        {"channels", one.channels}});
             return Value(list);
           })
      .nested();
  table.show_left("its choices", [](const ChoiceRow& row) {
    std::string words;
    for (const Use& one : row.uses)
      words += (words.empty() ? "" : "; ") + analysis::in_words(one);
    return words;
  });
  return table.table();
}

} // namespace

std::optional<FailedVersion> failure_in(const model::Run& run) {
  const model::TrialRecord* worst = nullptr;
  for (const model::TrialRecord& trial : run.trials)
    if (!trial.spec.is_default() && trial.spec.purpose != model::Purpose::companion &&
        trial.outcome.kind > model::OutcomeKind::not_run &&
        (!worst || trial.outcome.kind > worst->outcome.kind))
      worst = &trial;
  if (!worst)
    return std::nullopt;
  return FailedVersion{failure_of(*worst), worst->outcome.reason};
}

std::vector<Use> choices_in(const model::Run& run, BisectSide side) {
  std::set<Use> all;
  for (const SettingProof& proof : setting_proofs(run))
    if (proof.is_default == (side == BisectSide::first))
      for (const CellProof& cell : proof.cells)
        for (const auto& [rank, uses] : cell.by_rank)
          all.insert(uses.begin(), uses.end());
  return {all.begin(), all.end()};
}

Report bisect_report(const Bisection& all) {
  std::vector<BisectRow> rows;
  for (const StepComparison& one : all.search.comparisons()) {
    const auto failure = all.failures.find(one.version);
    rows.push_back({all.versions[one.version],
                    failure == all.failures.end() ? nullptr : &failure->second, one,
                    one.ratios.empty() ? std::nullopt
                                       : std::optional(ratio_estimate(one.ratios, k_confidence))});
  }
  std::vector<Finding> answers{bisect_answer(all, rows)};
  if (auto more = cumulative_loss(all, rows))
    answers.push_back(std::move(*more));
  TableOf<BisectRow> table(rows);
  table.add("version", &BisectRow::path).titled("version").left(40);
  table.add("pairs", [](const BisectRow& row) { return row.comparison.ratios.size(); })
      .titled("pairs");
  table.add("ratio", [](const BisectRow& row) {
    return row.ratio ? std::optional(six_digits(row.ratio->value)) : std::nullopt;
  });
  table.show("time against the first",
             [](const BisectRow& row) { return row.ratio ? Value(change_text(row)) : Value(); });
  table
      .add("interval",
           [](const BisectRow& row) {
             return row.ratio ? interval_value(row.ratio->interval) : Value();
           })
      .interval();
  table.add("answer", [](const BisectRow& row) { return row.comparison.answer; })
      .titled("answer")
      .left();
  table.add("failure", [](const BisectRow& row) {
    return row.failure ? std::optional(row.failure->failure) : std::nullopt;
  });
  table.add("reason",
            [](const BisectRow& row) { return row.failure ? row.failure->reason : std::string(); });
  table
      .show_left(
          "reason",
          [](const BisectRow& row) {
            return row.failure ? Value(first_clause(row.failure->reason)) : Value();
          },
          40)
      .if_any();
  const TablePtr comparisons = table.table(), choices = choice_table(all);
  Report report{.title = "Bisect", .rows = comparisons};
  Section verdict{.key = "verdict", .part = Section::Part::answer};
  verdict.blocks.emplace_back(Findings{"Verdict", std::move(answers), 12});
  if (all.synthetic)
    verdict.blocks.emplace_back(Findings{"Warning", {{&k_synthetic_numbers}}, 12});
  report.sections.push_back(std::move(verdict));
  report.sections.push_back(
      {.key = "comparisons",
       .title = fmt::format("{} versions of {}, in the order of the search", all.versions.size(),
                            base::printable(all.library)),
       .blocks = {View{.table = comparisons}}});
  if (choices->rows > 0)
    report.sections.push_back(
        {.key = "choices", .title = "How the library ran it", .blocks = {View{.table = choices}}});
  const auto bad = all.search.first_bad();
  report.data = {{"schema", "ncclprobe.bisect"},
                 {"schema_version", 1},
                 {"library", all.library},
                 {"cell", all.cell},
                 {"versions", all.versions},
                 {"first_bad", bad ? std::optional(all.versions[*bad]) : std::nullopt},
                 {"last_good", bad ? std::optional(all.versions[*bad - 1]) : std::nullopt},
                 {"comparisons", comparisons},
                 {"choices", choices}};
  return report;
}

} // namespace ncclprobe::analysis
