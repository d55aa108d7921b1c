// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr std::size_t k_most_bars = 16;
constexpr const char* k_sum_of_step =
    "step = compute + exposed wait + exposed transfer + copies + idle";

// Sums for one cell, for one rank or for all.
struct PartsRow {
  int rank = -1; // all
  int cell = -1;
  TimeParts parts;
  std::uint64_t steps = 0;
  double wait_error_ns = 0;
  bool knows_waits = true;

  double per_step(auto ns) const {
    return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(1, steps));
  }
};

TimeUnit unit_of(const std::vector<PartsRow>& rows) {
  double longest_ns = 0;
  for (const PartsRow& row : rows)
    longest_ns = std::max(longest_ns, row.per_step(row.parts.length_ns));
  return unit_for(longest_ns);
}

// `first`: the column that identifies rows, "rank" or "cell". Columns that only contain zeros are
// left out.
TablePtr parts_table(std::vector<PartsRow> all, const TimelineHeading& heading,
                     const std::string& first = "rank") {
  TableOf<PartsRow> table(std::move(all));
  const TimeUnit unit = unit_of(table.rows());
  auto any = [&](auto part) {
    return std::ranges::any_of(table.rows(), [&](auto& row) { return row.parts.*part != 0; });
  };
  const bool computes = any(&TimeParts::compute_ns),
             communicates = any(&TimeParts::communication_ns);
  auto show = [&](const char* title, bool wanted, auto ns_of, int dispensable = 0) {
    if (wanted)
      table
          .show(title, [=](const PartsRow& row) { return in_unit(row.per_step(ns_of(row)), unit); })
          .dispensable(dispensable);
  };
  // Wait and transfer add up to the exposed communication: an error of one is the opposite error of
  // the other.
  auto show_exposed = [&](const char* title, auto part) {
    if (communicates)
      table.show(title, [=](const PartsRow& row) {
        const Aligned time{row.per_step(row.parts.*part), row.per_step(row.wait_error_ns)};
        const bool knows = row.knows_waits || part != &TimeParts::exposed_wait_ns;
        return knows ? within_error(time, unit) : "-";
      });
  };
  table.add("rank", [](const PartsRow& row) { return cell_value(row.rank); })
      .titled(first == "rank" ? first : "");
  table.add("cell", [](const PartsRow& row) { return cell_value(row.cell); })
      .titled(first == "cell" ? first : "");
  table.add("name", [&heading](const PartsRow& row) { return name_of(row.cell, heading); });
  table.add("steps", &PartsRow::steps).titled("steps", {Unit::grouped}).dispensable(4);
  table.add_fields(&PartsRow::parts);
  show("step", true, [](auto& row) { return row.parts.length_ns; });
  show("compute", computes, [](auto& row) { return row.parts.compute_ns; });
  show(
      "comm", communicates, [](auto& row) { return row.parts.communication_ns; }, 2);
  show(
      "hidden", computes && communicates, [](auto& row) { return row.parts.hidden_ns; }, 3);
  table
      .add("overlap",
           [](auto& row) { return ratio(row.parts.hidden_ns, row.parts.communication_ns); })
      .titled(computes && communicates ? "overlap" : "", {Unit::percent});
  show_exposed("wait", &TimeParts::exposed_wait_ns);
  show_exposed("transfer", &TimeParts::exposed_transfer_ns);
  show("+- each",
       std::ranges::any_of(table.rows(), [](auto& row) { return row.wait_error_ns > 0; }),
       [](auto& row) { return row.wait_error_ns; });
  show("copies", any(&TimeParts::memory_ns), [](auto& row) { return row.parts.memory_ns; });
  show("idle", true, [](auto& row) { return row.parts.idle_ns + row.parts.helper_ns; });
  table.add("exposed_wait_error_ns", &PartsRow::wait_error_ns);
  table.add("exposed_transfer_error_ns", &PartsRow::wait_error_ns);
  return table.table();
}

// A bar for each row, of what its mean step consists of.
std::vector<Chart> parts_charts(const std::vector<PartsRow>& rows, const char* first) {
  struct Part {
    std::string name;
    const char* what;
    double time;
  };
  if (rows.size() > k_most_bars)
    return {};
  const TimeUnit unit = unit_of(rows);
  std::vector<Part> bars;
  for (const PartsRow& row : rows) {
    const TimeParts& parts = row.parts;
    const int number = row.rank < 0 ? row.cell : row.rank;
    for (const auto& [what, ns] :
         {std::pair("computing", parts.compute_ns - parts.hidden_ns),
          std::pair("computing, communication hidden", parts.hidden_ns),
          std::pair("exposed wait", parts.exposed_wait_ns),
          std::pair("exposed transfer", parts.exposed_transfer_ns),
          std::pair("copies", parts.memory_ns), std::pair("idle", parts.idle_ns + parts.helper_ns)})
      bars.push_back({number < 0 ? "trace" : fmt::format("{} {}", first, number), what,
                      row.per_step(ns) / unit.ns});
  }
  TableOf<Part> table(std::move(bars));
  table.add("row", &Part::name).titled(first);
  table.add("part", &Part::what).titled("part");
  table.add("time", [](const Part& part) { return six_digits(part.time); })
      .titled(unit.name, {Unit::number});
  return {{.kind = ChartKind::bars,
           .title = fmt::format("What a mean step of each {} consists of", first),
           .table = table.table(),
           .x = "time",
           .y = "row",
           .series = "part"}};
}

// Whether waits are known for any of its communication.
bool knows_waits(const RankTimeline& rank) {
  return rank.matched > 0 || rank.communications == 0;
}

std::vector<PartsRow> rows_of(const RankTimeline& rank) {
  std::vector<PartsRow> rows;
  for (const auto& [cell, sum] : rank.cells)
    rows.push_back({rank.rank, cell, sum.parts, sum.steps, sum.wait_error_ns, knows_waits(rank)});
  return rows;
}

Block known_waits(const std::vector<RankTimeline>& ranks) {
  std::uint64_t communications = 0, matched = 0;
  for (const RankTimeline& rank : ranks) {
    communications += rank.communications;
    matched += rank.matched;
  }
  return Text{"",
              fmt::format("Waits are known for {} of communication{}.",
                          share(matched, communications),
                          matched < communications ? "; the rest counts as transfer" : ""),
              2};
}

// For each cell separately: a mean over different cells would say nothing.
std::vector<Section> sections_by_rank(const std::vector<RankTimeline>& ranks,
                                      const TimelineHeading& heading) {
  ByCell<std::vector<PartsRow>> cells;
  for (const RankTimeline& rank : ranks)
    for (PartsRow& row : rows_of(rank))
      if (row.steps > 0)
        cells[row.cell].push_back(std::move(row));
  // The cells that took most time, as many as fit.
  auto shown = most_telling(
      cells,
      [](const std::vector<PartsRow>& rows) {
        std::int64_t length_ns = 0;
        for (const PartsRow& row : rows)
          length_ns += row.parts.length_ns;
        return length_ns;
      },
      std::max<std::size_t>(1, k_most_table_rows / std::max<std::size_t>(1, ranks.size())));
  std::ranges::sort(shown); // by cell
  std::vector<Section> sections;
  for (const auto& [cell, its_rows] : shown) {
    const std::vector<PartsRow>& rows = *its_rows;
    // The table of cells already says what the parts of a step are.
    Section& section = sections.emplace_back(Section{
        "steps",
        cells.size() > 1
            ? fmt::format("Mean step of each rank in cell {}, {}", cell, unit_of(rows).name)
            : fmt::format("Mean step of each rank, {} ({})", unit_of(rows).name, k_sum_of_step)});
    View view{parts_table(rows, heading)};
    if (rows.size() > k_most_table_rows) {
      section.title += ", ranks that wait least first";
      view.rows = greatest_first(rows, [](auto& row) { return -row.parts.exposed_wait_ns; });
      view.most_rows = k_most_table_rows;
    }
    section.blocks.push_back(std::move(view));
    if (cells.size() == 1)
      section.charts = parts_charts(rows, "rank");
  }
  if (!sections.empty()) {
    add_more_cells(sections.back(), shown.size(), cells.size());
    sections.back().blocks.push_back(known_waits(ranks));
  }
  return sections;
}

Section section_by_cell(const std::vector<RankTimeline>& ranks, const TimelineHeading& heading) {
  ByCell<PartsSum> cells;
  for (const RankTimeline& rank : ranks)
    for (const auto& [cell, sum] : rank.cells)
      cells[cell].add(sum);
  if (cells.size() < 2)
    return {"cells"};
  std::vector<PartsRow> rows;
  for (const auto& [cell, sum] : cells)
    rows.push_back({-1, cell, sum.parts, sum.steps, sum.wait_error_ns,
                    std::ranges::any_of(ranks, knows_waits)});
  Section section{"cells",
                  fmt::format("Mean step of each cell, {} ({})", unit_of(rows).name, k_sum_of_step),
                  {View{parts_table(rows, heading, "cell")}}};
  section.charts = parts_charts(rows, "cell");
  // Names are too long for the table, and may differ only at their ends.
  for (const auto& [cell, sum] : cells)
    if (auto name = heading.cells.find(cell); name != heading.cells.end())
      section.blocks.push_back(Text{fmt::format("  {}:", cell), name->second, 5});
  return section;
}

struct StreamRow : StreamParts {
  int cell = -1;
  int rank = 0;
};
std::vector<StreamRow> streams_of(const RankTimeline& rank) {
  std::vector<StreamRow> rows;
  for (const auto& [cell, streams] : rank.streams)
    for (const StreamParts& stream : streams)
      rows.push_back({stream, cell, rank.rank});
  return rows;
}

TablePtr streams_table(std::vector<StreamRow> rows) {
  TableOf<StreamRow> table(std::move(rows));
  double longest_ns = 0;
  bool names_cells = false;
  for (const StreamRow& row : table.rows()) {
    longest_ns = std::max(longest_ns, static_cast<double>(row.communication_ns));
    names_cells = names_cells || row.cell != table.rows().front().cell;
  }
  const TimeUnit unit = unit_for(longest_ns);
  auto show = [&](const char* what, auto part) {
    table.show(fmt::format("{} {}", what, unit.name),
               [=](const StreamRow& row) { return in_unit(static_cast<double>(row.*part), unit); });
  };
  table.add("cell", [](const StreamRow& row) { return cell_value(row.cell); })
      .titled(names_cells ? "cell" : "");
  table.show("rank", &StreamRow::rank);
  table.add("stream", &StreamRow::stream).titled("stream");
  table.add("kernels", &StreamRow::kernels).titled("kernels", {Unit::grouped});
  table.add("communication_ns", &StreamRow::communication_ns);
  table.add("hidden_ns", &StreamRow::hidden_ns);
  show("comm", &StreamRow::communication_ns);
  show("hidden", &StreamRow::hidden_ns);
  table.show("overlap", [](auto& row) { return ratio(row.hidden_ns, row.communication_ns); },
             {Unit::percent});
  return table.table();
}

// If a rank communicates on several streams.
Section streams_section(const std::vector<RankTimeline>& ranks) {
  std::vector<StreamRow> rows;
  bool several = false;
  for (const RankTimeline& rank : ranks) {
    for (const auto& [cell, streams] : rank.streams)
      several = several || streams.size() > 1;
    std::ranges::copy(streams_of(rank), std::back_inserter(rows));
  }
  if (!several)
    return {"streams"};
  std::ranges::stable_sort(rows, {}, &StreamRow::cell);
  return {"streams",
          "Streams that communicate, totals",
          {View{.table = streams_table(std::move(rows)), .most_rows = 2 * k_most_table_rows}}};
}

struct StepRow : RankTimeline::Step {
  int rank = 0;
};
TablePtr each_step_table(const std::vector<const RankTimeline*>& ranks) {
  std::vector<StepRow> rows;
  for (const RankTimeline* rank : ranks)
    for (const RankTimeline::Step& step : rank->steps)
      rows.push_back({step, rank->rank});
  TableOf<StepRow> table(std::move(rows));
  table.add("rank", &StepRow::rank);
  table.add("cell", [](const StepRow& row) { return row.key.cell; });
  table.add("batch", [](const StepRow& row) { return row.key.batch; });
  table.add("iteration", [](const StepRow& row) { return row.key.iteration; });
  table.add("start_ns", &StepRow::start_ns);
  table.add_fields(&StepRow::parts);
  return table.table();
}

Object rank_value(const RankTimeline& rank, const TimelineHeading& heading) {
  Object out = described_with(rank, {{"cells", parts_table(rows_of(rank), heading)},
                                     {"streams", streams_table(streams_of(rank))},
                                     {"gaps", by_cell(rank.gaps, heading, gaps_value)}});
  if (!rank.steps.empty())
    out.emplace_back("steps", each_step_table({&rank}));
  return out;
}

} // namespace

Report steps_report(const Timeline& timeline, const TimelineHeading& heading) {
  List ranks;
  std::vector<const RankTimeline*> with_steps;
  std::vector<PartsRow> rows;
  for (const RankTimeline& rank : timeline.ranks) {
    ranks.push_back(rank_value(rank, heading));
    if (!rank.steps.empty())
      with_steps.push_back(&rank);
    std::ranges::copy(rows_of(rank), std::back_inserter(rows));
  }
  Report report{.sections = {section_by_cell(timeline.ranks, heading)},
                .data = {{"ranks", std::move(ranks)}},
                .rows =
                    with_steps.empty() ? parts_table(rows, heading) : each_step_table(with_steps)};
  for (Section& section : sections_by_rank(timeline.ranks, heading))
    report.sections.push_back(std::move(section));
  report.sections.push_back(streams_section(timeline.ranks));
  return report;
}

} // namespace ncclprobe::analysis
