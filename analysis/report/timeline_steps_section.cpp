// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/text_layout.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "base/text_table.h"

#include <algorithm>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr std::size_t k_most_ranks = 32;

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

// The cells that all ranks ran: only of these a mean over cells compares ranks.
std::vector<int> shared_cells(const std::vector<RankTimeline>& ranks) {
  std::map<int, std::size_t> times;
  for (const RankTimeline& rank : ranks)
    for (const auto& [cell, sum] : rank.cells)
      times[cell] += sum.steps > 0;
  std::vector<int> shared;
  for (const auto& [cell, count] : times)
    if (count == ranks.size())
      shared.push_back(cell);
  return shared;
}

std::string steps_by_rank(const std::vector<RankTimeline>& ranks) {
  const std::vector<int> shared = shared_cells(ranks);
  const bool all_alike = std::ranges::all_of(
      ranks, [&](const RankTimeline& rank) { return rank.cells.size() == shared.size(); });
  std::vector<PartsRow> rows;
  for (const RankTimeline& rank : ranks) {
    PartsRow row;
    row.name = std::to_string(rank.rank);
    for (int cell : shared)
      row.sum.add(rank.cells.at(cell));
    if (shared.empty())
      row.sum = rank.all;
    row.knows_waits = knows_waits(rank);
    rows.push_back(std::move(row));
  }
  if (rows.size() > k_most_ranks) {
    std::ranges::stable_sort(rows, {},
                             [](const PartsRow& row) { return row.sum.parts.exposed_wait_ns; });
    rows.resize(k_most_ranks);
  }
  const TimeUnit unit = unit_of(rows);
  std::string out =
      fmt::format("Mean step of each rank, {} (step = compute + exposed wait + exposed "
                  "transfer + copies + idle)\n",
                  unit.name);
  out += parts_table("rank", rows, unit);
  if (!all_alike)
    out += paragraph("  ",
                     shared.empty()
                         ? "No cell was run by all of these ranks, so the means do not compare."
                         : fmt::format("Of what all of these ranks ran: {} {}.",
                                       shared.size() == 1 ? "cell" : "cells",
                                       fmt::format("{}", fmt::join(shared, ", "))),
                     2);
  if (rows.size() < ranks.size())
    out += paragraph("  ",
                     fmt::format("the {} of {} ranks that wait least; --format json has all",
                                 rows.size(), ranks.size()),
                     2);
  std::uint64_t communications = 0, matched = 0;
  for (const RankTimeline& rank : ranks) {
    communications += rank.communications;
    matched += rank.matched;
  }
  std::string text =
      fmt::format("Waits are known of {} of communication", share(matched, communications));
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
  std::string out = fmt::format("\nMean step of each cell, {}\n", unit.name);
  out += parts_table("cell", rows, unit);
  // Names are too long for the table, and what tells them apart may stand at their end.
  for (const auto& [cell, sum] : cells)
    if (auto name = heading.cells.find(cell); name != heading.cells.end())
      out += paragraph(fmt::format("  {}:", cell), printable(name->second), 5);
  return out;
}

std::string streams(const std::vector<RankTimeline>& ranks) {
  if (std::ranges::none_of(ranks, [](const auto& rank) { return rank.streams.size() > 1; }))
    return "";
  double longest_ns = 0;
  for (const RankTimeline& rank : ranks)
    for (const StreamParts& stream : rank.streams)
      longest_ns = std::max(longest_ns, static_cast<double>(stream.communication_ns));
  const TimeUnit unit = unit_for(longest_ns);
  std::string out = fmt::format("\nStreams that communicate, {} in all\n", unit.name);
  base::TextTable table({{"rank"}, {"stream"}, {"kernels"}, {"comm"}, {"hidden"}, {"overlap"}});
  std::size_t rows = 0;
  for (const RankTimeline& rank : ranks)
    for (const StreamParts& stream : rank.streams)
      if (rows++ < 2 * k_most_ranks)
        table.add_row({std::to_string(rank.rank), std::to_string(stream.stream),
                       grouped(stream.kernels),
                       in_unit(static_cast<double>(stream.communication_ns), unit),
                       in_unit(static_cast<double>(stream.hidden_ns), unit),
                       percent(static_cast<double>(stream.hidden_ns),
                               static_cast<double>(stream.communication_ns))});
  out += table.render(2);
  if (rows > 2 * k_most_ranks)
    out += "  --format json has all.\n";
  return out;
}

} // namespace

std::string render_steps(const Timeline& timeline, const TimelineHeading& heading) {
  return steps_by_rank(timeline.ranks) + steps_by_cell(timeline.ranks, heading) +
         streams(timeline.ranks);
}

} // namespace ncclprobe::analysis
