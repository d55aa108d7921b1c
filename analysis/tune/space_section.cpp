// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/space_section.h"

#include "analysis/report/label_words.h"
#include "base/units.h"
#include "workload/expected_time.h"

#include <algorithm>

namespace ncclprobe::analysis::tune {
namespace {

constexpr FindingKind k_would_try{
    "would_try", Severity::note,
    "Nothing was measured. A search tries as many of the {combinations} "
    "combinations for {targets} as it can in {budget}."};
constexpr FindingKind k_expected{
    "expected_trials", Severity::note,
    "About {trials} trials are expected; one of the default takes about {trial}."};
constexpr FindingKind k_too_short{
    "budget_too_short", Severity::warning,
    "The budget is expected to be too short to compare anything. Give more time with --budget."};

constexpr double k_most_counted = 1e18; // combinations, as a whole number

// Of a search, or what follows it.
struct PartRow {
  std::string_view part;
  std::string_view words; // for people
  search::StageForecast of;
  bool has_trials = true; // otherwise their number is not known
};

std::string_view words_of(search::Stage stage) {
  return stage == search::Stage::explore     ? "explore, race"
         : stage == search::Stage::leave_out ? "leave out"
                                             : to_string(stage);
}

struct ParameterRow {
  const search::Parameter* parameter;
  const std::string* why;
};

} // namespace

TablePtr parameter_table(const Tuning& tuning) {
  std::vector<ParameterRow> rows;
  for (std::size_t i = 0; i < tuning.space.parameters.size(); ++i)
    rows.push_back({&tuning.space.parameters[i], &tuning.why[i]});
  TableOf<ParameterRow> table(std::move(rows));
  using Row = const ParameterRow&;
  table.add("parameter", [](Row row) { return row.parameter->name; }).titled("parameter").left();
  table.add("values", [](Row row) { return row.parameter->values; }).nested();
  table.show_left(
      "values",
      [](Row row) {
        return join(std::vector(row.parameter->values.begin() + 1, row.parameter->values.end()),
                    ", ");
      },
      36);
  table.add("in_process", [](Row row) { return row.parameter->in_process; });
  table.show_left("takes effect", [](Row row) {
    return row.parameter->in_process ? "in process" : "in fresh processes";
  });
  table.add("why_tried", [](Row row) { return *row.why; }).titled("why").left(40);
  return table.table();
}

TablePtr forecast_table(const search::Forecast& forecast) {
  std::vector<PartRow> rows;
  for (const search::StageForecast& one : forecast.stages)
    rows.push_back({to_string(one.stage), words_of(one.stage), one});
  if (forecast.end_s > 0)
    rows.push_back({"delivery", "delivery", {.seconds = forecast.end_s}, false});
  TableOf<PartRow> table(std::move(rows));
  using Row = const PartRow&;
  table.add("part", [](Row row) { return row.part; });
  table.show_left("part", [](Row row) { return row.words; });
  table.add("combinations", [](Row row) { return row.of.combinations; })
      .titled("combinations", {Unit::grouped});
  table
      .add("all_combinations",
           [](Row row) {
             return row.of.combinations ? std::optional(row.of.all_combinations) : std::nullopt;
           })
      .titled("of", {Unit::grouped});
  table
      .add("trials",
           [](Row row) { return row.has_trials ? std::optional(row.of.trials) : std::nullopt; })
      .titled("trials", {Unit::grouped});
  table.add("seconds", [](Row row) { return six_digits(row.of.seconds); });
  table.show_left("time", [](Row row) {
    return row.of.seconds > 0 ? std::optional(workload::expected_text(1e9 * row.of.seconds))
                              : std::nullopt;
  });
  return table.table();
}

std::vector<Finding> preparation_findings(const Tuning& tuning) {
  std::vector<Finding> findings{
      {&k_would_try,
       {{"combinations", grouped(static_cast<std::uint64_t>(
                             std::min(count_of_combinations(tuning.space), k_most_counted)))},
        {"targets", count_of(tuning.space.targets.size(), "target", "targets")},
        {"budget", base::format_duration(1e9 * tuning.budget_s)}}}};
  if (!tuning.forecast)
    return findings;
  std::int64_t trials = 0;
  std::uint64_t compared = 0;
  for (const search::StageForecast& one : tuning.forecast->stages) {
    trials += one.trials;
    compared += one.combinations.value_or(0);
  }
  if (compared == 0)
    findings.push_back({&k_too_short});
  else
    findings.push_back(
        {&k_expected,
         {{"trial", workload::expected_text(1e9 * tuning.forecast->trial_s)}, {"trials", trials}}});
  return findings;
}

Section space_section(const Tuning& tuning) {
  Section space{"space", tuning.measured ? "What was tried" : "What would be tried"};
  space.part = Section::Part::method;
  space.add_each("transport", tuning.transports, 11);
  space.blocks.push_back(View{parameter_table(tuning)});
  space.add_each("note", tuning.notes, 11);
  for (const model::Setting& one : tuning.pinned)
    space.add("pinned",
              fmt::format("{}={} is set in the environment, and stays so; --override {} tunes "
                          "it.",
                          one.name, one.value, one.name),
              11);
  space.add_each("left out", tuning.not_in_space, 11);
  return space;
}

} // namespace ncclprobe::analysis::tune
