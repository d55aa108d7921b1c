// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"

#include <cmath>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr FindingKind k_lateness_unknown{
    "lateness_unknown", Severity::warning,
    "Unknown: each of the {collectives} collectives has only one rank on the common clock. The "
    "others left no trace, or their hosts' clocks were never compared."},
    k_late_now_and_then{
        "late_now_and_then", Severity::warning,
        "Rank {rank} is sometimes late: in {late_in} of {of} {unit}s it comes last by "
        "{when_late} (median), {more_us:.1f} us more than in the others."},
    k_late_every{
        "late_every", Severity::warning,
        "Rank {rank} is sometimes late: in {late_in} of {of} {unit}s it comes last by "
        "{when_late} (median), {more_us:.1f} us more than in the others. It recurs "
        "every {every} {unit}s from {unit} {first} on (counted from 0): in {late} of {steps} "
        "of these {unit}s."};

constexpr FindingKind k_clocks_are_wrong{
    "clocks_are_wrong", Severity::warning,
    "The clocks of these ranks do not agree: {what}. So no rank is called late, waits count as "
    "transfer, and ranks may be shifted against each other. Times within one rank are right."};

constexpr std::size_t k_most_ranks_drawn = 16;

std::string score_text(double score) {
  constexpr double k_most = 999; // larger scores say no more
  if (std::abs(score) > k_most)
    return score > 0 ? ">999" : "<-999";
  return std::abs(score) < 0.05 ? "0.0" : fmt::format("{:.1f}", score);
}

std::string with_interval(const Aligned& time, const std::optional<Interval>& interval) {
  return interval ? format_us(time) + " " + range(interval, {}) : format_us(time);
}

double largest(const std::optional<Interval>& interval) {
  return interval ? std::max(std::abs(interval->low), std::abs(interval->high)) : 0;
}

// Null if the rank was never last.
Value recurring_value(const std::optional<RecurringLateness>& found) {
  if (!found)
    return nullptr;
  const bool two_groups = found->late > 0;
  return Object{{"steps", found->steps},
                {"last_in", found->last},
                {"when_last", found->when_last},
                {"late_in", two_groups ? Value(found->late) : Value()},
                {"when_late", two_groups ? found->when_late : Value()},
                {"else_ns", two_groups ? Value(found->else_ns) : Value()},
                {"recurrence", found->recurrence}};
}

TimeUnit unit_of(const std::vector<Straggler>& ranks) {
  double longest_ns = 0;
  for (const Straggler& rank : ranks) {
    const Aligned lateness = rank.lateness.value_or(Aligned());
    longest_ns = std::max({longest_ns, rank.delay.value_ns, largest(rank.delay_interval),
                           largest(rank.lateness_interval), rank.delay.error_ns,
                           std::abs(lateness.value_ns), lateness.error_ns});
  }
  return short_unit_for(longest_ns);
}

TablePtr stragglers_table(const std::vector<Straggler>& ranks) {
  const TimeUnit unit = unit_of(ranks);
  TableOf<Straggler> table(ranks);
  using Row = const Straggler&;
  table.add("rank", &Straggler::rank).titled("rank");
  table.add("lateness", [](Row row) { return row.lateness; });
  show_aligned(table, "lateness", unit, [](Row row) { return row.lateness; });
  table.add("lateness_interval_ns", [](Row row) { return row.lateness_interval; });
  table.show("95%", [=](Row row) { return range(row.lateness_interval, unit); }).dispensable(2);
  table.add("score", &Straggler::score);
  table.show("score", [](Row row) { return row.score ? score_text(*row.score) : "-"; });
  table.add("score_interval", [](Row row) { return row.score_interval; });
  table
      .show("95%",
            [](Row row) {
              const auto& ends = row.score_interval;
              return ends ? fmt::format("[{}, {}]", score_text(ends->low), score_text(ends->high))
                          : "-";
            })
      .dispensable(3);
  table.add("times_last", &Straggler::times_last).titled("last in", {Unit::grouped});
  table.add("delay", [](Row row) { return row.delay; });
  show_aligned(table, "delay", unit, [](Row row) {
    return row.times_last > 0 ? std::optional(row.delay) : std::nullopt;
  });
  table.add("delay_interval_ns", [](Row row) { return row.delay_interval; });
  table.show("95%", [=](Row row) { return range(row.delay_interval, unit); }).dispensable(1);
  table.add("recurring", [](Row row) { return recurring_value(row.recurring); });
  return table.table();
}

// The ranks that were ever last, the most costly first.
std::vector<Straggler> costly_ranks(const std::vector<Straggler>& ranks) {
  std::vector<Straggler> last;
  for (const std::size_t i : greatest_first(ranks, [](auto& rank) { return rank.delay.value_ns; }))
    if (ranks[i].times_last > 0)
      last.push_back(ranks[i]);
  return last;
}

// A bar for each rank: `key` is a column of its figure.
template <typename Get>
Chart rank_bars(std::string title, std::vector<Straggler> ranks, const char* key,
                const std::string& what, CellFormat format, Get get) {
  TableOf<Straggler> table(std::move(ranks));
  table.add("rank", [](const Straggler& one) { return fmt::format("rank {}", one.rank); })
      .titled("rank");
  table.add("what", [what](const Straggler&) { return what; }).titled("what");
  table.add(key, get).titled(what, format);
  return {.kind = ChartKind::bars,
          .title = std::move(title),
          .table = table.table(),
          .x = key,
          .y = "rank",
          .series = "what"};
}

struct Stretch {
  int rank = 0;
  std::size_t first = 0; // of its steps
  std::size_t steps = 0;
  double delay_ns = 0; // of each step, on average
};

// When which rank came last: its delay in each stretch of steps.
Chart stretches_chart(const Stragglers& found, const std::vector<Straggler>& ranks,
                      const std::string& unit) {
  std::vector<Stretch> rows;
  for (const Straggler& rank : ranks) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < rank.delay_by_stretch_ns.size(); ++i) {
      rows.push_back({rank.rank, first, found.stretches[i], rank.delay_by_stretch_ns[i]});
      first += found.stretches[i];
    }
  }
  TableOf<Stretch> table(std::move(rows));
  using Row = const Stretch&;
  table.add("rank", &Stretch::rank).titled("rank");
  table
      .add("steps",
           [](Row row) {
             return row.steps == 1 ? std::to_string(row.first)
                                   : fmt::format("{}-{}", row.first, row.first + row.steps - 1);
           })
      .titled(unit);
  table.add("delay_us", [](Row row) { return six_digits(row.delay_ns / 1e3); })
      .titled("us", {Unit::number});
  return {.kind = ChartKind::heat_map,
          .title = fmt::format("When each rank came last: mean delay of a {}, us", unit),
          .table = table.table(),
          .x = "steps",
          .y = "rank",
          .value = "delay_us"};
}

std::vector<Chart> straggler_charts(const Stragglers& found) {
  std::vector<Straggler> ranks = costly_ranks(found.ranks);
  const std::size_t all = ranks.size();
  if (all == 0)
    return {};
  ranks.resize(std::min(all, k_most_ranks_drawn));
  const std::string of =
      all > ranks.size() ? fmt::format(": the {} most costly of {} ranks", ranks.size(), all) : "";
  const std::string unit = found.per_step ? "step" : "collective";
  return {rank_bars("What the last rank costs the others" + of, ranks, "delay_us", "us per " + unit,
                    {Unit::number},
                    [](const Straggler& one) { return six_digits(one.delay.value_ns / 1e3); }),
          rank_bars("How often each rank came last" + of, ranks, "times_last", "collectives",
                    {Unit::grouped}, [](const Straggler& one) { return one.times_last; }),
          stretches_chart(found, ranks, unit)};
}

Finding recurring_finding(const Straggler& rank, const Stragglers& found) {
  const RecurringLateness& one = *rank.recurring;
  Object values{{"rank", rank.rank},
                {"late_in", one.late},
                {"of", one.steps},
                {"unit", found.per_step ? "step" : "collective"},
                {"when_late", format_us(one.when_late)},
                {"more_us", (one.when_late.value_ns - one.else_ns) / 1e3}};
  if (!one.recurrence)
    return {&k_late_now_and_then, std::move(values)};
  return {&k_late_every, described_with(*one.recurrence, std::move(values))};
}

// For ranks that are far later in some steps than in others. The total of a rank's lateness decides
// which are shown.
void add_recurring(std::vector<Block>& blocks, const Stragglers& found) {
  std::vector<const Straggler*> late;
  for (const Straggler& rank : found.ranks)
    if (rank.recurring && rank.recurring->late > 0)
      late.push_back(&rank);
  auto sum_ns = [](const Straggler* rank) {
    return static_cast<double>(rank->recurring->late) * rank->recurring->when_late.value_ns;
  };
  std::ranges::stable_sort(late, std::ranges::greater{}, sum_ns);
  for (std::size_t i = 0; i < std::min(late.size(), k_most_rows); ++i)
    if (10 * sum_ns(late[i]) >= sum_ns(late.front()))
      blocks.push_back(Findings{"  ", {recurring_finding(*late[i], found)}, 2});
}

// `place`: " in cell 3" if there are several.
Section stragglers_section(const Stragglers& found, const std::string& place) {
  Section section{"stragglers"};
  const StartSkew& skew = found.skew;
  if (skew.collectives == 0 && skew.single > 0) {
    section.title = "Who comes late" + place;
    section.blocks.push_back(
        Findings{"  ", {{&k_lateness_unknown, {{"collectives", skew.single}}}}, 2});
  }
  if (skew.collectives == 0)
    return section;
  section.title = fmt::format("Who comes late{}, {}, delays per {}", place,
                              unit_of(found.ranks).name, found.per_step ? "step" : "collective");
  section.blocks = {
      Text{"",
           fmt::format("Start skew of {} collectives ({} recorded on all of their known ranks, {} "
                       "on one rank only): median {}, 99% within {}, largest {}.",
                       grouped(skew.collectives), grouped(skew.complete), grouped(skew.single),
                       with_interval(*skew.median, skew.median_interval),
                       with_interval(*skew.p99, skew.p99_interval), format_us(*skew.largest)),
           2},
      View{.table = stragglers_table(found.ranks),
           .rows = greatest_first(found.ranks, [](auto& rank) { return rank.delay.value_ns; }),
           .most_rows = k_most_rows}};
  add_recurring(section.blocks, found);
  section.charts = straggler_charts(found);
  return section;
}

Object stragglers_value(const Stragglers& found) {
  const StartSkew& skew = found.skew;
  return {{"collectives", skew.collectives},
          {"complete", skew.complete},
          {"on_one_rank_only", skew.single},
          {"sampled", found.sampled},
          {"steps", found.steps},
          {"delay_is_per", found.per_step ? "step" : "collective"},
          {"recurring_is_per", found.per_step ? "step" : "collective"},
          {"start_skew", Object{{"median", skew.median},
                                {"median_interval_ns", skew.median_interval},
                                {"p99", skew.p99},
                                {"p99_interval_ns", skew.p99_interval},
                                {"largest", skew.largest}}},
          {"ranks", stragglers_table(found.ranks)}};
}

} // namespace

Finding wrong_clocks(const Timeline& timeline) {
  const PhysicsCheck& collectives = timeline.physics;
  const bool of_collectives = collectives.clocks_are_wrong();
  const PhysicsCheck& check = of_collectives ? collectives : timeline.messages.all.physics;
  return {&k_clocks_are_wrong,
          {{"violations", check.beyond_bound},
           {"checked", check.checked},
           {"what", fmt::format("{} of {} {}", grouped(check.beyond_bound), grouped(check.checked),
                                of_collectives ? "collectives end before all ranks have begun"
                                               : "receives end before their send has begun")}}};
}

Report stragglers_report(const Timeline& timeline, const TimelineHeading& heading) {
  const auto& found = timeline.stragglers;
  Report report{.data = {{"stragglers", by_cell(found, heading, stragglers_value)}}};
  if (timeline.clocks_are_wrong())
    report.sections.push_back(
        {"stragglers", "Who comes late", {Findings{"  ", {wrong_clocks(timeline)}, 2}}});
  const auto shown = most_telling(found, [](const Stragglers& one) {
    double delay_ns = 0; // of all steps
    for (const Straggler& rank : one.ranks)
      delay_ns += rank.delay.value_ns * static_cast<double>(one.steps);
    return delay_ns;
  });
  for (const auto& [cell, one] : shown)
    report.sections.push_back(
        stragglers_section(*one, found.size() > 1 ? fmt::format(" in cell {}", cell) : ""));
  if (!shown.empty())
    add_more_cells(report.sections.back(), shown.size(), found.size());
  return report;
}

} // namespace ncclprobe::analysis
