// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/history_report.h"

#include "analysis/compare/comparison_words.h"
#include "analysis/compare/provenance.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/verdict/verdict.h"
#include "base/version.h"

#include <algorithm>

namespace ncclprobe::analysis::compare {
namespace {

constexpr FindingKind k_changes{"changes", Severity::warning,
                                "Changes found: {changes}, in {series} of {all} series."};
constexpr FindingKind k_steady{"no_change", Severity::note, "No change was found."};
constexpr FindingKind k_few_runs{
    "too_few_runs", Severity::warning,
    "{runs}: too few to find a change. {least} show one in their middle; more are needed for one "
    "near an end or in a single cell."};

struct ChangeRow {
  const History* history;
  const HistorySeries* series;
  const Change* change;
};

const ComparedRun& run_of(const ChangeRow& row) {
  return row.history->runs[row.series->runs[row.change->first_after]];
}

std::string series_name(const HistorySeries& series) {
  return series.cell ? in_words(*series.cell) : "all cells";
}

TablePtr change_table(const History& history) {
  std::vector<ChangeRow> rows;
  for (const HistorySeries& series : history.series)
    for (const Change& change : series.changes)
      rows.push_back({&history, &series, &change});
  TableOf<ChangeRow> table(std::move(rows));
  table.add("series", [](const ChangeRow& row) { return series_name(*row.series); })
      .titled("what")
      .left(44);
  table.add("started_utc", [](const ChangeRow& row) { return run_of(row).started_utc; })
      .titled("since")
      .left();
  table.add("run", [](const ChangeRow& row) { return run_of(row).name; }).titled("run").left(30);
  table.add("synthetic", [](const ChangeRow& row) { return run_of(row).synthetic; });
  table.add("speed_ratio", [](const ChangeRow& row) { return six_digits(row.change->speed_ratio); })
      .titled("speed", {Unit::ratio, 3});
  table.add("interval", [](const ChangeRow& row) { return interval_value(row.change->interval); })
      .titled(fmt::format("{:.0f}% interval", 100 * k_confidence), {Unit::fixed, 3})
      .dispensable(1)
      .interval();
  table.add("p", [](const ChangeRow& row) { return six_digits(row.change->p); })
      .titled("p", {Unit::chance});
  table.add("alpha", [](const ChangeRow& row) { return six_digits(row.series->alpha); });
  return table.table();
}

struct ValueRow {
  const History* history;
  const HistorySeries* series;
  std::size_t index;
};

TablePtr value_table(const History& history) {
  std::vector<ValueRow> rows;
  for (const HistorySeries& series : history.series)
    for (std::size_t i = 0; i < series.runs.size(); ++i)
      rows.push_back({&history, &series, i});
  TableOf<ValueRow> table(std::move(rows));
  auto run = [](const ValueRow& row) -> const ComparedRun& {
    return row.history->runs[row.series->runs[row.index]];
  };
  table.add("series", [](const ValueRow& row) { return series_name(*row.series); });
  table.add("run", [run](const ValueRow& row) { return run(row).name; });
  table.add("started_utc", [run](const ValueRow& row) { return run(row).started_utc; });
  table.add("synthetic", [run](const ValueRow& row) { return run(row).synthetic; });
  table.add("time_ns",
            [](const ValueRow& row) { return six_digits(row.series->times_ns[row.index]); });
  return table.table();
}

} // namespace

Report history_report(std::shared_ptr<const History> history) {
  Report report;
  report.title = "History of " + count_of(history->runs.size(), "run", "runs");
  const TablePtr changes = change_table(*history), values = value_table(*history);
  Section answer{.key = "answer", .part = Section::Part::answer};
  answer.add("Runs",
             history->runs.empty() ? "none"
                                   : fmt::format("{}, from {} to {}", history->runs.size(),
                                                 printable(history->runs.front().started_utc),
                                                 printable(history->runs.back().started_utc)),
             10);
  if (history->other_runs > 0)
    answer.add("Left out",
               fmt::format("{} with another GPU, fabric, number of ranks or NCCL than the last",
                           count_of(history->other_runs, "run", "runs")),
               10);
  const bool synthetic = std::ranges::any_of(history->runs, &ComparedRun::synthetic);
  if (synthetic)
    answer.blocks.push_back(Findings{"", {{&k_synthetic_numbers}}, 0});
  const auto changed = std::ranges::count_if(
      history->series, [](const HistorySeries& one) { return !one.changes.empty(); });
  Finding found{&k_steady};
  if (history->runs.size() < k_least_history)
    found = {&k_few_runs,
             {{"runs", count_of(history->runs.size(), "run", "runs")}, {"least", k_least_history}}};
  else if (changed > 0)
    found = {&k_changes,
             {{"changes", changes->rows}, {"series", changed}, {"all", history->series.size()}}};
  answer.blocks.push_back(Findings{"Answer", {std::move(found)}, 10});
  answer.add(
      "Error",
      fmt::format("if nothing changed, about {:g}% of such histories show a change, provided "
                  "that runs do not depend on each other",
                  100 * k_alpha),
      10);
  report.sections.push_back(std::move(answer));
  if (changes->rows > 0)
    report.sections.push_back({"changes",
                               "Changes: speed from this run on, relative to before",
                               {View{.table = changes, .most_rows = k_rows_shown}}});
  std::vector<RunSource> sources;
  for (const ComparedRun& run : history->runs)
    sources.push_back(source_of(run, ""));
  report.sections.push_back(history_method());
  report.sections.push_back(source_section(sources));
  report.data = {{"schema", "ncclprobe.history"},
                 {"schema_version", 1},
                 {"synthetic", synthetic},
                 {"runs", history->runs.size()},
                 {"other_runs", history->other_runs},
                 {"sources", source_table(sources)},
                 {"compared_by", base::version_and_build()},
                 {"changes", changes},
                 {"values", values}};
  report.rows = values;
  report.figures.push_back(std::move(history));
  return report;
}

} // namespace ncclprobe::analysis::compare
