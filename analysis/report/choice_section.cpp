// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "analysis/statistics/statistics.h"

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

using ChoiceRow = const NcclChoices::value_type*;

double median_of(const Thinned& values_ns) {
  return median(values_ns.values());
}

// Null without channel times.
Value channels_value(const ChannelTimes& channels) {
  if (channels.operations == 0)
    return nullptr;
  List medians;
  for (const auto& [channel, lengths] : channels.lengths_ns)
    medians.push_back(Object{{"channel", channel}, {"median_ns", median_of(lengths)}});
  return Object{{"operations", channels.operations},
                {"median_starts_apart_ns", median_of(channels.starts_apart_ns)},
                {"median_ends_apart_ns", median_of(channels.ends_apart_ns)},
                {"channels", medians}};
}

// By median time, with their numbers.
std::pair<std::pair<double, int>, std::pair<double, int>>
fastest_and_slowest(const ChannelTimes& channels) {
  std::vector<std::pair<double, int>> medians;
  for (const auto& [channel, lengths] : channels.lengths_ns)
    medians.emplace_back(median_of(lengths), channel);
  const auto [fastest, slowest] = std::ranges::minmax(medians);
  return {fastest, slowest};
}

double per_operation(const NcclChoiceTime& time, auto ns) {
  return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(1, time.timed));
}

// The columns of both tables that identify a choice.
TableOf<ChoiceRow> begin_table(const Timeline& timeline, std::vector<ChoiceRow> rows) {
  TableOf<ChoiceRow> table(std::move(rows));
  const NcclChoices& all = timeline.choices;
  const bool one_cell = all.empty() || all.begin()->first.cell == all.rbegin()->first.cell;
  table.add("cell", [](ChoiceRow row) { return cell_value(row->first.cell); })
      .titled(one_cell ? "" : "cell");
  for (auto [key, id] : {std::pair{"function", &NcclChoice::function},
                         std::pair{"algorithm", &NcclChoice::algorithm},
                         std::pair{"protocol", &NcclChoice::protocol}})
    table
        .add(key, [&timeline, id = id](ChoiceRow row) { return text_of(timeline, row->first.*id); })
        .titled(key)
        .left();
  table.add("channels", [](ChoiceRow row) { return row->first.channels; })
      .titled("channels")
      .dispensable(3);
  return table;
}

// The greatest of some figures over all rows.
template <typename... Figures>
TimeUnit unit_of(const std::vector<ChoiceRow>& rows, Figures... figures) {
  double longest_ns = 0;
  for (ChoiceRow row : rows)
    longest_ns = std::max({longest_ns, figures(row->second)...});
  return short_unit_for(longest_ns);
}

double median_ns(const NcclChoiceTime& time) {
  return time.timed > 0 ? median_of(time.lengths_ns) : 0;
}
double mean_ns(const NcclChoiceTime& time) {
  return per_operation(time, time.length_ns);
}
double wait_error_ns(const NcclChoiceTime& time) {
  return per_operation(time, time.wait_error_ns);
}
TimeUnit unit_of_operation(const std::vector<ChoiceRow>& rows) {
  return unit_of(rows, median_ns, mean_ns, wait_error_ns);
}

TablePtr choices_table(const Timeline& timeline, const std::vector<ChoiceRow>& rows) {
  const bool knows_waits =
      std::ranges::any_of(timeline.ranks, [](const auto& rank) { return rank.matched > 0; });
  const TimeUnit unit = unit_of_operation(rows);
  const TimeUnit of_all =
      unit_of(rows, [](const NcclChoiceTime& time) { return static_cast<double>(time.length_ns); });
  TableOf<ChoiceRow> table = begin_table(timeline, rows);
  auto show = [&](const std::string& title, const TimeUnit& in, auto get) {
    return table.show(title, [=](ChoiceRow row) -> Value {
      return row->second.timed > 0 ? Value(in_unit(get(row->second), in)) : Value();
    });
  };
  table.add("operations", [](ChoiceRow row) { return row->second.operations; })
      .titled("count", {Unit::grouped})
      .dispensable(1);
  table.add("timed", [](ChoiceRow row) { return row->second.timed; });
  table.add("length_ns", [](ChoiceRow row) { return row->second.length_ns; });
  table.add("wait_ns", [](ChoiceRow row) { return row->second.wait_ns; });
  table.add("wait_error_ns", [](ChoiceRow row) { return row->second.wait_error_ns; });
  table.add("channel_times", [](ChoiceRow row) { return channels_value(row->second.channels); });
  show("median", unit, median_ns);
  show("mean", unit, mean_ns).dispensable(2);
  show_aligned(table, "wait", unit, [=](ChoiceRow row) -> std::optional<Aligned> {
    const NcclChoiceTime& time = row->second;
    if (time.timed == 0 || !knows_waits)
      return std::nullopt;
    return Aligned{per_operation(time, time.wait_ns), wait_error_ns(time)};
  });
  show(fmt::format("all, {}", of_all.name), of_all, [](auto& time) { return time.length_ns; });
  return table.table();
}

TimeUnit unit_of_channels(const std::vector<ChoiceRow>& rows) {
  return unit_of(rows, [](const NcclChoiceTime& time) {
    return std::max({fastest_and_slowest(time.channels).second.first,
                     median_of(time.channels.starts_apart_ns),
                     median_of(time.channels.ends_apart_ns)});
  });
}

TablePtr channels_table(const Timeline& timeline, const std::vector<ChoiceRow>& rows) {
  const TimeUnit unit = unit_of_channels(rows);
  TableOf<ChoiceRow> table = begin_table(timeline, rows);
  auto show = [&](const char* title, auto get) {
    return table.show(title, [=](ChoiceRow row) { return get(row->second.channels); });
  };
  auto named = [=](const std::pair<double, int>& channel) {
    return fmt::format("{}: {}", channel.second, in_unit(channel.first, unit));
  };
  show("count", [](auto& channels) { return grouped(channels.operations); }).dispensable(2);
  show("fastest", [=](auto& channels) { return named(fastest_and_slowest(channels).first); });
  show("slowest", [=](auto& channels) { return named(fastest_and_slowest(channels).second); });
  show("starts", [=](auto& one) {
    return in_unit(median_of(one.starts_apart_ns), unit);
  }).dispensable(1);
  show("ends", [=](auto& one) {
    return in_unit(median_of(one.ends_apart_ns), unit);
  }).dispensable(1);
  return table.table();
}

// If there is no room for all, those that took most time.
View choices_view(TablePtr table, const std::vector<ChoiceRow>& rows) {
  View view{.table = std::move(table), .most_rows = k_most_table_rows};
  if (rows.size() > k_most_table_rows)
    view.rows = greatest_first(rows, [](ChoiceRow row) { return row->second.length_ns; });
  return view;
}

} // namespace

Report choices_report(const Timeline& timeline) {
  std::vector<ChoiceRow> rows, with_channels;
  for (const auto& choice : timeline.choices) {
    rows.push_back(&choice);
    if (choice.second.channels.operations > 0)
      with_channels.push_back(&choice);
  }
  const TablePtr table = choices_table(timeline, rows);
  Report report{.data = {{"nccl", table}}};
  if (!rows.empty())
    report.sections.push_back(
        {"nccl",
         fmt::format("What NCCL chose, {} per operation", unit_of_operation(rows).name),
         {choices_view(table, rows)}});
  if (!with_channels.empty())
    report.sections.push_back(
        {"channels",
         fmt::format(
             "NCCL's channels, {}: the fastest and the slowest (with its number), and the spread "
             "of their starts and ends",
             unit_of_channels(with_channels).name),
         {choices_view(channels_table(timeline, with_channels), with_channels),
          Text{"", "Medians, by the GPU's clock.", 2}}});
  return report;
}

} // namespace ncclprobe::analysis
