// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "base/text_table.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr const char* k_sum_of_step =
    "step = compute + exposed wait + exposed transfer + copies + idle";

struct PartsRow {
  std::string name;
  PartsSum sum;
  bool knows_waits = true;
  double per_step(double ns) const {
    return ns / static_cast<double>(std::max<std::uint64_t>(1, sum.steps));
  }
  double per_step(std::int64_t ns) const { return per_step(static_cast<double>(ns)); }
};

TimeUnit unit_of(const std::vector<PartsRow>& rows) {
  double longest_ns = 0;
  for (const PartsRow& row : rows)
    longest_ns = std::max(longest_ns, row.per_step(row.sum.parts.length_ns));
  return unit_for(longest_ns);
}

// Columns of zeros are left out, as far as they say nothing.
std::string parts_table(const std::string& first, const std::vector<PartsRow>& rows,
                        const TimeUnit& unit) {
  auto any = [&](auto is) {
    return std::ranges::any_of(rows, [&](const PartsRow& row) { return is(row.sum); });
  };
  const bool computes = any([](const PartsSum& sum) { return sum.parts.compute_ns != 0; });
  const bool communicates =
      any([](const PartsSum& sum) { return sum.parts.communication_ns != 0; });
  const bool copies = any([](const PartsSum& sum) { return sum.parts.memory_ns != 0; });
  const bool has_error = any([](const PartsSum& sum) { return sum.wait_error_ns > 0; });
  std::vector<base::TextTable::Column> columns{{first}, {"steps"}, {"step"}};
  auto add = [&](bool wanted, std::initializer_list<const char*> titles) {
    for (const char* title : titles)
      if (wanted)
        columns.push_back({title});
  };
  add(computes, {"compute"});
  add(communicates, {"comm"});
  add(computes && communicates, {"hidden", "overlap"});
  add(communicates, {"wait", "transfer"});
  add(has_error, {"both +-"});
  add(copies, {"copies"});
  add(true, {"idle"});
  base::TextTable table(std::move(columns));
  for (const PartsRow& row : rows) {
    const StepParts& parts = row.sum.parts;
    auto per_step = [&](std::int64_t ns) { return in_unit(row.per_step(ns), unit); };
    // Wait and transfer make up the exposed communication: what the one has too much the other
    // lacks.
    auto exposed = [&](std::int64_t ns) {
      return within_error({row.per_step(ns), row.per_step(row.sum.wait_error_ns)}, unit);
    };
    std::vector<std::string> cells{row.name, grouped(row.sum.steps), per_step(parts.length_ns)};
    if (computes)
      cells.push_back(per_step(parts.compute_ns));
    if (communicates)
      cells.push_back(per_step(parts.communication_ns));
    if (computes && communicates) {
      cells.push_back(per_step(parts.hidden_ns));
      cells.push_back(percent(static_cast<double>(parts.hidden_ns),
                              static_cast<double>(parts.communication_ns)));
    }
    if (communicates) {
      cells.push_back(row.knows_waits ? exposed(parts.exposed_wait_ns) : "-");
      cells.push_back(exposed(parts.exposed_transfer_ns));
    }
    if (has_error)
      cells.push_back(in_unit(row.per_step(row.sum.wait_error_ns), unit));
    if (copies)
      cells.push_back(per_step(parts.memory_ns));
    cells.push_back(per_step(parts.idle_ns + parts.helper_ns));
    table.add_row(std::move(cells));
  }
  return table.render(2);
}

// Whether any of its communication is known to have waited or not.
bool knows_waits(const RankTimeline& rank) {
  return rank.matched > 0 || rank.communications == 0;
}

// Of each cell by itself: means over cells that do different things would say nothing.
std::string steps_by_rank(const std::vector<RankTimeline>& ranks) {
  ByCell<std::vector<PartsRow>> cells;
  for (const RankTimeline& rank : ranks)
    for (const auto& [cell, sum] : rank.cells)
      if (sum.steps > 0)
        cells[cell].push_back({std::to_string(rank.rank), sum, knows_waits(rank)});
  if (cells.empty())
    return "";
  // Those that took most time, as many as have room.
  std::vector<int> order;
  for (const auto& [cell, rows] : cells)
    order.push_back(cell);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](int cell) {
    std::int64_t length_ns = 0;
    for (const PartsRow& row : cells.at(cell))
      length_ns += row.sum.parts.length_ns;
    return length_ns;
  });
  const std::size_t room = std::max<std::size_t>(1, k_most_table_rows / ranks.size());
  order.resize(std::min(order.size(), room));
  std::ranges::sort(order);
  std::string out;
  for (int cell : order) {
    std::vector<PartsRow>& rows = cells.at(cell);
    const std::size_t all = rows.size();
    if (all > k_most_table_rows) {
      std::ranges::stable_sort(rows, {},
                               [](const PartsRow& row) { return row.sum.parts.exposed_wait_ns; });
      rows.resize(k_most_table_rows);
    }
    const TimeUnit unit = unit_of(rows);
    out += out.empty() ? "" : "\n";
    // The table of cells has said already what a step adds up from.
    out += cells.size() > 1
               ? fmt::format("Mean step of each rank in cell {}, {}\n", cell, unit.name)
               : fmt::format("Mean step of each rank, {} ({})\n", unit.name, k_sum_of_step);
    out += parts_table("rank", rows, unit);
    if (rows.size() < all)
      out += paragraph("  ",
                       fmt::format("the {} of {} ranks that wait least; --format json has all",
                                   rows.size(), all),
                       2);
  }
  if (order.size() < cells.size())
    out += fmt::format("  {} of {} cells; --format json has all.\n", order.size(), cells.size());
  std::uint64_t communications = 0, matched = 0;
  for (const RankTimeline& rank : ranks) {
    communications += rank.communications;
    matched += rank.matched;
  }
  std::string text =
      fmt::format("Waits are known for {} of all communication", share(matched, communications));
  if (matched < communications)
    text += "; the rest counts as transfer";
  return out + paragraph("  ", text + ".", 2);
}

std::string steps_by_cell(const std::vector<RankTimeline>& ranks, const TimelineHeading& heading) {
  std::map<int, PartsSum> cells;
  for (const RankTimeline& rank : ranks)
    for (const auto& [cell, sum] : rank.cells)
      cells[cell].add(sum);
  if (cells.size() < 2)
    return "";
  std::vector<PartsRow> rows;
  for (const auto& [cell, sum] : cells)
    rows.push_back({std::to_string(cell), sum, std::ranges::any_of(ranks, knows_waits)});
  const TimeUnit unit = unit_of(rows);
  std::string out = fmt::format("Mean step of each cell, {} ({})\n", unit.name, k_sum_of_step);
  out += parts_table("cell", rows, unit);
  // Names are too long for the table, and what tells them apart may stand at their end.
  for (const auto& [cell, sum] : cells)
    if (auto name = heading.cells.find(cell); name != heading.cells.end())
      out += paragraph(fmt::format("  {}:", cell), printable(name->second), 5);
  return out + "\n";
}

// Where a rank communicates on several streams.
std::string streams(const std::vector<RankTimeline>& ranks) {
  double longest_ns = 0;
  bool several = false;
  std::set<int> cells;
  for (const RankTimeline& rank : ranks)
    for (const auto& [cell, all] : rank.streams)
      for (const StreamParts& stream : all) {
        several = several || all.size() > 1;
        cells.insert(cell);
        longest_ns = std::max(longest_ns, static_cast<double>(stream.communication_ns));
      }
  if (!several)
    return "";
  const TimeUnit unit = unit_for(longest_ns);
  std::vector<base::TextTable::Column> columns{{"rank"}, {"stream"}, {"kernels"},
                                               {"comm"}, {"hidden"}, {"overlap"}};
  if (cells.size() > 1)
    columns.insert(columns.begin(), {"cell"});
  base::TextTable table(std::move(columns));
  std::size_t rows = 0;
  for (int cell : cells)
    for (const RankTimeline& rank : ranks) {
      const auto found = rank.streams.find(cell);
      if (found == rank.streams.end())
        continue;
      for (const StreamParts& stream : found->second) {
        if (rows++ >= 2 * k_most_table_rows)
          continue;
        std::vector<std::string> row{std::to_string(rank.rank),
                                     std::to_string(stream.stream),
                                     grouped(stream.kernels),
                                     in_unit(static_cast<double>(stream.communication_ns), unit),
                                     in_unit(static_cast<double>(stream.hidden_ns), unit),
                                     percent(static_cast<double>(stream.hidden_ns),
                                             static_cast<double>(stream.communication_ns))};
        if (cells.size() > 1)
          row.insert(row.begin(), std::to_string(cell));
        table.add_row(std::move(row));
      }
    }
  std::string out = fmt::format("\nStreams that communicate, {} in all\n", unit.name);
  out += table.render(2);
  if (rows > 2 * k_most_table_rows)
    out += "  --format json has all.\n";
  return out;
}

} // namespace

std::string render_steps(const Timeline& timeline, const TimelineHeading& heading) {
  return steps_by_cell(timeline.ranks, heading) + steps_by_rank(timeline.ranks) +
         streams(timeline.ranks);
}

} // namespace ncclprobe::analysis
