// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr FindingKind k_without_other_side{
    "message_without_other_side", Severity::warning,
    "rank {rank}'s {side} {peer}, number {number}{place}: the other side is not in the trace."},
    k_of_other_size{"message_of_other_size", Severity::warning,
                    "rank {rank}'s {side} {peer}, number {number}{place}: the other side has "
                    "another size."},
    k_reported_again{"message_reported_again", Severity::warning,
                     "rank {rank}'s {side} {peer}, number {number}{place}: reported more than "
                     "once."};

Finding unmatched_finding(const UnmatchedHalf& half) {
  const StepKey& step = half.step;
  const bool known = step.batch >= 0;
  return {half.match == MatchState::contradicted ? &k_of_other_size
          : half.match == MatchState::repeated   ? &k_reported_again
                                                 : &k_without_other_side,
          {{"rank", half.rank},
           {"side", half.sends ? "send to" : "receive from"},
           {"peer", half.peer},
           {"number", half.number},
           {"cell", known ? Value(step.cell) : Value()},
           {"batch", known ? Value(step.batch) : Value()},
           {"step", known ? Value(step.iteration) : Value()},
           {"place", known ? fmt::format(" in cell {}, batch {}, step {}", step.cell, step.batch,
                                         step.iteration)
                           : ""}}};
}

TablePtr waits_table(const MessageWaits::OfCell& found, bool per_step) {
  const char* unit = per_step ? "step" : "kernel";
  TableOf<MessageWaits::OfRank> table(found.ranks);
  using Row = const MessageWaits::OfRank&;
  table.add("rank", [](Row row) { return row.rank; }).titled("rank");
  table.add("kernels_that_waited", [](Row row) { return row.kernels; });
  table.add("wait", [](Row row) { return row.wait; });
  table.show(fmt::format("waits per {}", unit),
             [](Row row) { return row.kernels > 0 ? format_us(row.wait) : "-"; });
  table.add("most_for", [](Row row) { return row.most_for < 0 ? Value() : Value(row.most_for); })
      .titled("most for");
  table.add("times_awaited", [](Row row) { return row.times_awaited; })
      .titled("awaited", {Unit::grouped});
  table.add("delay", [](Row row) { return row.delay; });
  table.show(fmt::format("delay per {}", unit),
             [](Row row) { return row.delay.value_ns > 0 ? format_us(row.delay) : "-"; });
  table.add("delay_interval_ns", [](Row row) { return row.delay_interval; });
  table.show("95%, us", [](Row row) { return range(row.delay_interval, {}); }).dispensable(1);
  return table.table();
}

Object messages_value(const MessageWaits& found, const TimelineHeading& heading) {
  const RankMessages& all = found.all;
  auto count = [&](MatchState match) { return all.halves[static_cast<std::size_t>(match)]; };
  auto waits_value = [&](const MessageWaits::OfCell& waits) {
    return Object{{"steps", found.per_step ? Value(waits.steps) : Value()},
                  {"ranks", waits_table(waits, found.per_step)}};
  };
  return described_with(all, {{"matched", count(MatchState::matched)},
                              {"without_other_half", count(MatchState::alone)},
                              {"of_other_size", count(MatchState::contradicted)},
                              {"told_more_than_once", count(MatchState::repeated)},
                              {"waits_are_per", found.per_step ? "step" : "kernel"},
                              {"cells", by_cell(found.cells, heading, waits_value)}});
}

Section messages_section(const MessageWaits& found) {
  const RankMessages& all = found.all;
  std::uint64_t met = all.halves[static_cast<std::size_t>(MatchState::matched)];
  std::uint64_t halves = met + all.unmatched_halves();
  if (halves + all.kernels_untold + all.without_kernel == 0)
    return {"messages"};
  std::string text = "The ranks of sends and receives are unknown.";
  if (halves > 0)
    text = fmt::format("{} of sends and receives were matched with their other side.",
                       share(met, halves));
  if (all.sent_ahead > 0)
    text += fmt::format(" {} ended before the receive began, and did not wait.",
                        count_of(all.sent_ahead, "send", "sends"));
  if (all.clock_unknown > 0)
    text += fmt::format(" {} belong to ranks whose clock is unknown.", grouped(all.clock_unknown));
  if (all.kernels_untold > 0)
    text += fmt::format(" It is unknown what {} send or receive: only the run file has that.",
                        count_of(all.kernels_untold, "kernel", "kernels"));
  if (all.without_kernel > 0)
    text += fmt::format(" {} that NCCL reported have no kernel.",
                        count_of(all.without_kernel, "send or receive", "sends and receives"));
  Section section{
      "messages", "Who waits for whom (sends and receives)", {Text{"", std::move(text), 2}}};
  for (const UnmatchedHalf& one : all.unmatched)
    section.blocks.push_back(Findings{"  -", {unmatched_finding(one)}, 4});
  if (std::uint64_t rest = all.unmatched_halves() - all.clock_unknown - all.unmatched.size();
      rest > 0)
    section.blocks.push_back(Text{"  -", fmt::format("and {} more.", grouped(rest)), 4});
  ByCell<MessageWaits::OfCell> cells = found.cells;
  std::erase_if(cells, [](const auto& cell) { return cell.second.ranks.empty(); });
  const auto shown = most_telling(cells, [](const MessageWaits::OfCell& waits) {
    double delay_ns = 0; // of all steps
    for (const MessageWaits::OfRank& rank : waits.ranks)
      delay_ns += rank.delay.value_ns * static_cast<double>(waits.steps);
    return delay_ns;
  });
  for (const auto& [cell, waits] : shown) {
    if (cells.size() > 1)
      section.blocks.push_back(Text{"", fmt::format("In cell {}", cell), 2});
    section.blocks.push_back(
        View{.table = waits_table(*waits, found.per_step),
             .rows = greatest_first(waits->ranks, [](auto& rank) { return rank.delay.value_ns; }),
             .most_rows = k_most_rows});
  }
  add_more_cells(section, shown.size(), cells.size());
  return section;
}

} // namespace

Report messages_report(const Timeline& timeline, const TimelineHeading& heading) {
  return {.sections = {messages_section(timeline.messages)},
          .data = {{"messages", messages_value(timeline.messages, heading)}}};
}

} // namespace ncclprobe::analysis
