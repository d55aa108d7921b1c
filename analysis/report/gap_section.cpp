// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"

namespace ncclprobe::analysis {

using namespace timeline;

Object gaps_value(const Gaps& gaps) {
  Object out;
  for (GapCause cause :
       {GapCause::launch_late, GapCause::event, GapCause::other, GapCause::unknown})
    out.emplace_back(name_of(cause), gaps.of(cause));
  out.emplace_back("events_traced", gaps.events_traced);
  return out;
}

namespace {

struct GapRow : Gaps::Sum {
  int cell = -1;
  const char* cause = "";
  std::int64_t all_ns = 0; // of all causes
};

std::vector<GapRow> gap_rows(int cell, const Gaps& gaps, std::int64_t all_ns) {
  std::vector<GapRow> rows;
  for (auto [cause, words] :
       {std::pair{GapCause::launch_late, "the host launched late"},
        {GapCause::event, "waited for an event"},
        {GapCause::other, gaps.events_traced ? "other" : "other, or an event (see --trace api)"},
        {GapCause::unknown, "the launch was not recorded"}})
    if (gaps.of(cause).count > 0)
      rows.push_back({gaps.of(cause), cell, words, all_ns});
  return rows;
}

} // namespace

Report gaps_report(const Timeline& timeline, const TimelineHeading& heading) {
  auto sum_ns = [](const Gaps& gaps) {
    std::int64_t sum = 0;
    for (const Gaps::Sum& cause : gaps.causes)
      sum += cause.length_ns;
    return sum;
  };
  ByCell<Gaps> cells = timeline.gaps;
  std::erase_if(cells, [&](const auto& cell) { return sum_ns(cell.second) == 0; });
  auto shown = most_telling(cells, sum_ns, k_most_table_rows / k_gap_causes);
  std::ranges::sort(shown); // by cell
  std::vector<GapRow> rows;
  for (const auto& [cell, gaps] : shown)
    std::ranges::copy(gap_rows(cell, *gaps, sum_ns(*gaps)), std::back_inserter(rows));
  Report report{.data = {{"gaps", by_cell(timeline.gaps, heading, gaps_value)}}};
  if (rows.empty())
    return report;
  TableOf<GapRow> table(std::move(rows));
  table.show(cells.size() > 1 ? "cell" : "",
             [](const GapRow& row) { return cell_value(row.cell); });
  table.show("cause", &GapRow::cause).left();
  table.show("gaps", &GapRow::count, {Unit::grouped});
  table.show("ms", [](const GapRow& row) { return static_cast<double>(row.length_ns) / 1e6; },
             {Unit::fixed, 3});
  table.show("share", [](const GapRow& row) { return ratio(row.length_ns, row.all_ns); },
             {Unit::percent});
  report.sections.push_back({"gaps", "Why streams were idle", {View{table.table()}}});
  add_more_cells(report.sections.back(), shown.size(), cells.size());
  return report;
}

} // namespace ncclprobe::analysis
