// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/comparison_report.h"

#include "analysis/compare/comparison_answer.h"
#include "analysis/compare/comparison_words.h"
#include "analysis/compare/provenance.h"
#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "base/version.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace ncclprobe::analysis::compare {
namespace {

constexpr int k_hang = 12;

// Of one side; k_synthetic_numbers is of both.
constexpr FindingKind k_synthetic_side{"synthetic_side", Severity::warning,
                                       "SYNTHETIC NUMBERS in {side}: they come from a model."};

std::string side_text(const std::string& name, int runs) {
  return runs == 1 ? printable(name) : fmt::format("{} ({} runs)", printable(name), runs);
}

std::string basis_text(Basis basis) {
  switch (basis) {
  case Basis::two_runs:
    return "one run each; the scatter between runs is unknown";
  case Basis::baseline:
    return "against the scatter between the runs of the baseline";
  case Basis::interleaved:
    return "runs of both took turns";
  }
  return "";
}

TablePtr suspect_table(const std::vector<Suspect>& suspects) {
  TableOf<Suspect> table(suspects);
  table.add("kind", &Suspect::kind);
  table.add("name", &Suspect::name);
  table.show_left(
      "what differs",
      [](const Suspect& one) {
        return one.name.empty() ? in_words(one.kind) : in_words(one.kind) + " " + one.name;
      },
      40);
  table.add("a", [](const Suspect& one) { return one.a.empty() ? Value() : Value(one.a); })
      .titled("in A")
      .left(36);
  table.add("b", [](const Suspect& one) { return one.b.empty() ? Value() : Value(one.b); })
      .titled("in B")
      .left(36);
  return table.table();
}

struct CellRow {
  const RunComparison* of;
  const CellComparison* cell;
  bool shows_why; // not if all rows have the same reason, which then stands below the table
  const std::vector<GateResult>* gates;
};

// The gates of which the cell alone is beyond the limit (GateResult::beyond). Nothing if none.
Value gates_of(const CellRow& row) {
  std::vector<std::string> gates;
  for (const GateResult& gate : *row.gates)
    if (std::ranges::count(gate.beyond, row.cell) > 0)
      gates.push_back(gate.gate.text);
  return gates.empty() ? Value() : Value(join(gates, "; "));
}

// Of all comparable cells.
std::optional<Reason> shared_reason(const RunComparison& comparison) {
  std::set<Reason> reasons;
  for (const CellComparison& one : comparison.cells)
    if (one.verdict != CellVerdict::not_comparable)
      reasons.insert(one.reason);
  return reasons.size() == 1 && !reasons.contains(Reason::none) &&
                 !reasons.contains(Reason::too_noisy) // what that takes differs from cell to cell
             ? std::optional(*reasons.begin())
             : std::nullopt;
}

std::string cell_text(const CellRow& row) {
  return name_in_words(row.cell->key);
}

std::optional<double> mean_ns(const std::vector<double>& values_ns) {
  return values_ns.empty() ? std::nullopt : std::optional(six_digits(geometric_mean(values_ns)));
}

// Of what has tests.
template <typename Row, typename DecisionOf>
void add_decision(TableOf<Row>& table, DecisionOf decision_of) {
  auto optional_of = [decision_of](auto member) {
    return [decision_of, member](const Row& row) { return six_digits(decision_of(row).*member); };
  };
  table
      .add("interval",
           [decision_of](const Row& row) { return interval_value(decision_of(row).interval); })
      .titled(fmt::format("{:.0f}% interval", 100 * k_confidence), {Unit::fixed, 3})
      .interval();
  table.add("p", optional_of(&Decision::p));
  table.add("adjusted_p", optional_of(&Decision::adjusted_p))
      .titled("adjusted p", {Unit::chance})
      .dispensable(3)
      .if_any();
  table.add("floor", optional_of(&Decision::floor));
  table.add("detectable", optional_of(&Decision::detectable));
}

TablePtr cell_table(std::vector<CellRow> rows) {
  TableOf<CellRow> table(std::move(rows));
  table.add("a", [](const CellRow& row) { return row.of->a; });
  table.add("b", [](const CellRow& row) { return row.of->b; });
  table.add("synthetic", [](const CellRow& row) { return row.of->is_synthetic(); });
  add_label(table,
            [](const CellRow& row) -> const model::CellLabel& { return row.cell->key.label; });
  table.add("ranks", [](const CellRow& row) {
    return rank_count(row.cell->key.label, row.cell->key.ranks);
  });
  table.add("timing", [](const CellRow& row) { return row.cell->key.timing; });
  table.add("setting", [](const CellRow& row) { return row.cell->key.setting; });
  table.show_left("cell", cell_text, 40);
  table.show("size", [](const CellRow& row) { return cell_bytes(row.cell->key.label); },
             {Unit::size});
  table
      .show("A us", [](const CellRow& row) { return in_us(mean_ns(row.cell->a_ns)); },
            {Unit::number})
      .dispensable(1);
  table
      .show("B us", [](const CellRow& row) { return in_us(mean_ns(row.cell->b_ns)); },
            {Unit::number})
      .dispensable(2);
  table.add("a_time_ns", [](const CellRow& row) { return mean_ns(row.cell->a_ns); });
  table.add("b_time_ns", [](const CellRow& row) { return mean_ns(row.cell->b_ns); });
  table.add("a_values", [](const CellRow& row) { return row.cell->a_ns.size(); });
  table.add("b_values", [](const CellRow& row) { return row.cell->b_ns.size(); });
  table
      .add("speed_ratio",
           [](const CellRow& row) {
             return row.cell->a_ns.empty() ? std::nullopt
                                           : std::optional(six_digits(row.cell->speed_ratio));
           })
      .titled("speed B/A", {Unit::ratio, 3});
  add_decision(table, [](const CellRow& row) -> const Decision& { return *row.cell; });
  table.add("floor_a", [](const CellRow& row) { return six_digits(row.cell->floor_a); });
  table.add("floor_b", [](const CellRow& row) { return six_digits(row.cell->floor_b); });
  table.add("verdict", [](const CellRow& row) { return row.cell->verdict; });
  table.show_left("verdict", [](const CellRow& row) { return in_words(row.cell->verdict); });
  table.add("reason", [](const CellRow& row) {
    return row.cell->reason == Reason::none ? Value() : Value(row.cell->reason);
  });
  table
      .show_left(
          "why",
          [](const CellRow& row) {
            return row.cell->reason == Reason::none || !row.shows_why
                       ? Value()
                       : Value(why_in_words(*row.cell, row.of->basis));
          },
          44)
      .if_any();
  table.add("repeats_needed", [](const CellRow& row) { return row.cell->repeats; });
  table.add("beyond_gates", gates_of);
  return table.table();
}

// "to 64K 0.25% and 0.31%, to 4M 0.2% and 0.22%": of A and B. Empty if neither is known.
std::string floors_in_words(const RunComparison& comparison) {
  static constexpr std::array k_classes{"to 64K", "to 4M", "above"};
  static_assert(k_classes.size() == k_size_classes);
  std::map<int, const CellComparison*> by_class;
  for (const CellComparison& one : comparison.cells)
    if (one.verdict != CellVerdict::not_comparable && (one.floor_a || one.floor_b))
      by_class.emplace(size_class(one.key.label.bytes), &one);
  auto percent = [](const std::optional<double>& floor) {
    return floor ? percent_above(*floor) : "unknown";
  };
  std::vector<std::string> texts;
  for (const auto& [size, cell] : by_class)
    texts.push_back(fmt::format("{} {} and {}", k_classes.at(static_cast<std::size_t>(size)),
                                percent(cell->floor_a), percent(cell->floor_b)));
  return join(texts, ", ");
}

std::vector<CellRow> rows_of(const JudgedComparison& judged) {
  std::vector<CellRow> rows;
  const RunComparison& comparison = judged.comparison;
  const bool shows_why = !shared_reason(comparison);
  for (const CellComparison& cell : comparison.cells)
    rows.push_back({&comparison, &cell, shows_why, &judged.gates});
  return rows;
}

struct GateRow {
  const GateResult* gate;
  Basis basis;
};

TablePtr gate_table(const JudgedComparison& one) {
  std::vector<GateRow> rows;
  for (const GateResult& gate : one.gates)
    rows.push_back({&gate, one.comparison.basis});
  TableOf<GateRow> table(std::move(rows));
  static const Decision k_none;
  auto mean_of_row = [](const GateRow& row) -> const Decision& {
    return row.gate->mean ? *row.gate->mean : k_none;
  };
  table.add("gate", [](const GateRow& row) { return row.gate->gate.text; }).titled("gate").left(40);
  table.add("cells", [](const GateRow& row) { return row.gate->cells.size(); }).titled("cells");
  table
      .add("speed_ratio",
           [](const GateRow& row) {
             return row.gate->mean ? std::optional(six_digits(row.gate->mean->speed_ratio))
                                   : std::nullopt;
           })
      .titled("speed B/A", {Unit::ratio, 3});
  add_decision(table, mean_of_row);
  table.add("verdict", [](const GateRow& row) { return row.gate->verdict; });
  table.show_left("verdict", [](const GateRow& row) { return in_words(row.gate->verdict); });
  table.add("reason", [](const GateRow& row) {
    return row.gate->reason == GateReason::none ? Value() : Value(row.gate->reason);
  });
  table.add("repeats_needed", [](const GateRow& row) { return row.gate->repeats; });
  return table.table();
}

Value decision_value(const std::optional<Decision>& one) {
  if (!one)
    return nullptr;
  return Object{{"speed_ratio", six_digits(one->speed_ratio)},
                {"interval", interval_value(one->interval)},
                {"p", six_digits(one->p)},
                {"detectable", six_digits(one->detectable)},
                {"verdict", one->verdict},
                {"reason", one->reason == Reason::none ? Value() : Value(one->reason)},
                {"repeats_needed", one->repeats}};
}

bool is_found(const CellComparison& one) {
  return one.verdict == CellVerdict::faster || one.verdict == CellVerdict::slower;
}

// All comparable cells; of many the differences first.
std::vector<std::size_t> rows_to_show(const RunComparison& comparison) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < comparison.cells.size(); ++i)
    if (comparison.cells[i].verdict != CellVerdict::not_comparable)
      rows.push_back(i);
  if (rows.size() > k_rows_shown)
    std::stable_partition(rows.begin(), rows.end(),
                          [&](std::size_t i) { return is_found(comparison.cells[i]); });
  return rows;
}

// The cells of a workload and setting stand together.
Chart speed_chart(const RunComparison& comparison, const std::vector<std::size_t>& shown) {
  std::vector<CellRow> rows;
  for (const std::size_t i : shown)
    rows.push_back({&comparison, &comparison.cells[i], true, nullptr});
  auto family = [](const CellRow& row) {
    const CellKey& key = row.cell->key;
    return with_setting(key, cell_family(key.label, key.timing));
  };
  std::ranges::stable_sort(rows, {}, family);
  TableOf<CellRow> table(std::move(rows));
  table.add("cell", family).titled("cell");
  table.add("member", [](const CellRow& row) { return cell_member(row.cell->key.label); })
      .titled("size or ranks");
  table.add("speed_ratio", [](const CellRow& row) { return six_digits(row.cell->speed_ratio); })
      .titled("speed B/A", {Unit::ratio, 3});
  add_decision(table, [](const CellRow& row) -> const Decision& { return *row.cell; });
  table.add("verdict", [](const CellRow& row) { return row.cell->verdict; }).titled("verdict");
  return {.kind = ChartKind::forest,
          .title = "Speed of B against A",
          .table = table.table(),
          .x = "speed_ratio",
          .y = "member",
          .series = "cell",
          .interval = "interval",
          .state = "verdict",
          .lines = {{"A", 1}}};
}

Report report_of(const JudgedComparison& one) {
  const RunComparison& comparison = one.comparison;
  Report report;
  Section answer{.key = "answer", .part = Section::Part::answer};
  answer.add("A",
             comparison.b_left_a
                 ? fmt::format("{} ({}, without B, which is one of its runs)",
                               printable(comparison.a),
                               count_of(static_cast<std::size_t>(comparison.runs_a), "run", "runs"))
                 : side_text(comparison.a, comparison.runs_a),
             k_hang);
  answer.add("B", side_text(comparison.b, comparison.runs_b), k_hang);
  answer.add("Compared", basis_text(comparison.basis), k_hang);
  if (comparison.synthetic_a && comparison.synthetic_b)
    answer.blocks.push_back(Findings{"", {{&k_synthetic_numbers}}, 0});
  else if (comparison.synthetic_a || comparison.synthetic_b)
    answer.blocks.push_back(
        Findings{"", {{&k_synthetic_side, {{"side", comparison.synthetic_a ? "A" : "B"}}}}, 0});
  answer.blocks.push_back(Findings{"Answer", answers_of(comparison), k_hang});
  const TablePtr suspects = suspect_table(comparison.suspects);
  const TablePtr cells = cell_table(rows_of(one));
  const TablePtr gates = gate_table(one);
  report.sections.push_back(std::move(answer));
  if (!one.gates.empty()) {
    Section section{"gates", "Gates", {View{gates}}};
    for (const GateResult& gate : one.gates)
      if (const std::string why = why_in_words(gate, comparison); !why.empty())
        section.blocks.push_back(Text{"", gate.gate.text + ": " + why, 2});
    report.sections.push_back(std::move(section));
  }
  Section differences{"suspects", "What differs between A and B"};
  if (comparison.suspects.empty())
    differences.blocks.push_back(Text{"", "Nothing, as far as both runs recorded it.", 2});
  else
    differences.blocks.push_back(View{suspects});
  report.sections.push_back(std::move(differences));
  const auto shown = rows_to_show(comparison);
  if (!shown.empty()) {
    Section section{.key = "cells",
                    .title = "Cells: speed above 1 means that B is faster",
                    .blocks = {View{.table = cells, .rows = shown, .most_rows = k_rows_shown}},
                    .charts = {speed_chart(comparison, shown)}};
    if (const auto reason = shared_reason(comparison))
      section.add("", "not decided, all of them: " + in_words(*reason), 2);
    if (const std::string floors = floors_in_words(comparison); !floors.empty())
      section.add("", "A/A floors of A and B: " + floors, 2);
    report.sections.push_back(std::move(section));
  }
  Section left_out{"not_comparable"};
  left_out.add_each("Left out", left_out_in_words(comparison), k_hang);
  if (!left_out.blocks.empty())
    report.sections.push_back(std::move(left_out));
  report.sections.push_back(comparison_method(comparison));
  report.sections.push_back(source_section(comparison.sources));
  report.data = {{"basis", comparison.basis},
                 {"a", comparison.a},
                 {"b", comparison.b},
                 {"runs_a", comparison.runs_a},
                 {"runs_b", comparison.runs_b},
                 {"synthetic", comparison.is_synthetic()},
                 {"sources", source_table(comparison.sources)},
                 {"compared_by", base::version_and_build()},
                 {"difference", comparison.request.difference},
                 {"conclusion", comparison.conclusion},
                 {"repeats_needed", comparison.repeats()},
                 {"overall", decision_value(comparison.overall)},
                 {"gates", gates},
                 {"suspects", suspects},
                 {"cells", cells}};
  report.rows = cells;
  return report;
}

std::string title_of(const std::vector<JudgedComparison>& comparisons) {
  if (comparisons.empty())
    return "";
  const RunComparison& first = comparisons.front().comparison;
  const std::string others = comparisons.size() == 1 ? side_text(first.b, first.runs_b)
                                                     : fmt::format("{} others", comparisons.size());
  return side_text(first.a, first.runs_a) + " compared with " + others;
}

} // namespace

Report comparison_report(std::shared_ptr<const std::vector<JudgedComparison>> comparisons) {
  Report whole{.title = title_of(*comparisons)};
  List list;
  std::vector<CellRow> rows;
  for (const JudgedComparison& one : *comparisons) {
    Report part = report_of(one);
    list.emplace_back(std::move(part.data));
    part.data.clear();
    append(whole, std::move(part));
    for (const CellRow& row : rows_of(one))
      rows.push_back(row);
  }
  whole.data = {
      {"schema", "ncclprobe.comparison"}, {"schema_version", 1}, {"comparisons", std::move(list)}};
  whole.rows = cell_table(std::move(rows));
  whole.figures.push_back(std::move(comparisons));
  return whole;
}

} // namespace ncclprobe::analysis::compare
