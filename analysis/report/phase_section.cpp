// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis {

using timeline::PhaseName, timeline::PhasePath;

namespace {

constexpr FindingKind k_phases{
    "phases", Severity::note,
    "Phases are the program's NVTX ranges, without those that cover more than one whole step. "
    "Means over "
    "the ranks that have the phase. A phase is what the host did; its kernels may run later."};

// Over the ranks that have the phase.
struct PhaseRow {
  int cell = 0;
  PhasePath path;
  double mean_ns = 0; // per step
  double share = 0;   // of the steps
  std::size_t ranks = 0;
  int slowest_rank = 0;
  double slowest_ns = 0; // per step
  const PhaseName& phase() const { return path.back(); }
};

using RowsByPath = std::map<PhasePath, PhaseRow>;

timeline::ByCell<RowsByPath> rows_by_cell(const timeline::Timeline& timeline) {
  timeline::ByCell<RowsByPath> cells;
  timeline::ByCell<std::map<PhasePath, double>> length_ns; // per step, of all ranks
  for (const timeline::RankTimeline& rank : timeline.ranks)
    for (const auto& [cell, phases] : rank.phases)
      for (const auto& [path, ns] : phases.ns) {
        PhaseRow& row = cells[cell][path];
        const auto steps = static_cast<double>(phases.steps);
        const double per_step_ns = static_cast<double>(ns) / steps;
        if (row.ranks == 0 || per_step_ns > row.slowest_ns) {
          row.slowest_rank = rank.rank;
          row.slowest_ns = per_step_ns;
        }
        ++row.ranks;
        row.mean_ns += per_step_ns;
        length_ns[cell][path] += static_cast<double>(phases.length_ns) / steps;
      }
  for (auto& [cell, rows] : cells)
    for (auto& [path, row] : rows) {
      row.cell = cell;
      row.path = path;
      row.share = row.mean_ns / length_ns[cell][path];
      row.mean_ns /= static_cast<double>(row.ranks);
    }
  return cells;
}

// The longest first, each before those that it contains.
std::vector<PhaseRow> phase_rows(const timeline::Timeline& timeline) {
  std::vector<PhaseRow> all;
  for (const auto& cell : rows_by_cell(timeline)) {
    const RowsByPath& rows = cell.second;
    std::vector<PhaseRow> of_cell;
    for (const auto& [path, row] : rows)
      of_cell.push_back(row);
    std::ranges::stable_sort(of_cell, {}, [&](const PhaseRow& row) {
      return std::tuple(-rows.at({row.path.front()}).mean_ns, row.path.front(), row.path.size(),
                        -row.mean_ns);
    });
    std::ranges::move(of_cell, std::back_inserter(all));
  }
  return all;
}

TimeUnit unit_of(const std::vector<PhaseRow>& rows) {
  double longest_ns = 0;
  for (const PhaseRow& row : rows)
    longest_ns = std::max(longest_ns, row.slowest_ns);
  return unit_for(longest_ns);
}

std::string text_of(const PhaseRow& row) {
  const std::string& name = row.phase().name;
  return std::string(2 * (row.path.size() - 1), ' ') + (name.empty() ? "(no name)" : name);
}

TablePtr phases_table(std::vector<PhaseRow> rows) {
  const TimeUnit unit = unit_of(rows);
  TableOf<PhaseRow> table(std::move(rows));
  using Row = const PhaseRow&;
  table.add("cell", &PhaseRow::cell).titled("cell");
  table.add("outer",
            [](Row row) { return row.path.size() > 1 ? Value(row.path.front().name) : Value(); });
  table.add("phase", [](Row row) { return row.phase().name; });
  table.show_left("phase", text_of, 40);
  table.add("domain", [](Row row) { return row.phase().domain; });
  table
      .show_left("domain",
                 [](Row row) {
                   const std::string& domain = row.phase().domain;
                   return domain.empty() ? Value() : Value(domain);
                 })
      .if_any();
  table.add("mean_ns", &PhaseRow::mean_ns);
  table.show("per step", [=](Row row) { return in_unit(row.mean_ns, unit); });
  table.add("share", &PhaseRow::share).titled("of a step", {Unit::percent});
  table.add("ranks", &PhaseRow::ranks).titled("ranks");
  table.add("slowest_rank", &PhaseRow::slowest_rank).titled("slowest");
  table.add("slowest_ns", &PhaseRow::slowest_ns);
  table.show("its time", [=](Row row) { return in_unit(row.slowest_ns, unit); });
  return table.table();
}

} // namespace

Report phases_report(const timeline::Timeline& timeline, const TimelineHeading& heading) {
  if (!heading.job || heading.job->reason != job::NoSteps::found)
    return {};
  const std::vector<PhaseRow> rows = phase_rows(timeline);
  const TablePtr table = phases_table(rows);
  Report report{.data = {{"phases", table}}};
  if (!rows.empty())
    report.sections.push_back(
        {"phases",
         fmt::format("Phases of a step on the host, {} (NVTX ranges)", unit_of(rows).name),
         {View{.table = table, .most_rows = k_most_table_rows}, Findings{"  ", {{&k_phases}}, 2}}});
  return report;
}

} // namespace ncclprobe::analysis
