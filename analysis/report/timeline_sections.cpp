// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_sections.h"

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_words.h"
#include "analysis/statistics/statistics.h"
#include "base/text_table.h"
#include "base/wrapped_row.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

using Align = base::TextTable::Align;

std::string score_text(double score) {
  constexpr double k_most = 999; // more is steady beyond what anybody compares
  if (std::abs(score) > k_most)
    return score > 0 ? ">999" : "<-999";
  return std::abs(score) < 0.05 ? "0.0" : fmt::format("{:.1f}", score);
}

std::string score_range(const std::optional<Interval>& interval) {
  return interval ? fmt::format("[{}, {}]", score_text(interval->low), score_text(interval->high))
                  : "-";
}

std::string with_interval(const Aligned& time, const std::optional<Interval>& interval) {
  return interval ? format_us(time) + " " + range_us(interval) : format_us(time);
}

// Three digits before the point, for tables of many columns.
TimeUnit short_unit_for(double largest_ns) {
  return unit_for(10 * largest_ns);
}

double largest(const std::optional<Interval>& interval) {
  return interval ? std::max(std::abs(interval->low), std::abs(interval->high)) : 0;
}

std::string straggler_table(const std::vector<const Straggler*>& shown, const TimeUnit& unit) {
  const bool has_error = std::ranges::any_of(shown, [](const Straggler* rank) {
    return (rank->lateness && rank->lateness->error_ns > 0) || rank->delay.error_ns > 0;
  });
  // With errors there is no room for long titles, nor for the longest intervals in one row.
  std::vector<int> widths;
  if (has_error)
    widths = {0, 0, 0, 14, 0, 12, 0, 0, 0, 14};
  std::vector<base::TextTable::Column> columns{{"rank"}, {has_error ? "late" : "lateness"}};
  if (has_error)
    columns.push_back({"+-"});
  for (const char* title : {"95%", "score", "95%", "last in", "delay"})
    columns.push_back({title});
  if (has_error)
    columns.push_back({"+-"});
  columns.push_back({"95%"});
  base::TextTable table(std::move(columns));
  for (const Straggler* rank : shown) {
    std::vector<std::string> cells{std::to_string(rank->rank),
                                   rank->lateness ? within_error(*rank->lateness, unit) : "-"};
    if (has_error)
      cells.push_back(rank->lateness ? in_unit(rank->lateness->error_ns, unit) : "-");
    cells.push_back(range(rank->lateness_interval, unit));
    cells.push_back(rank->score ? score_text(*rank->score) : "-");
    cells.push_back(score_range(rank->score_interval));
    cells.push_back(grouped(rank->times_last));
    cells.push_back(rank->times_last > 0 ? within_error(rank->delay, unit) : "-");
    if (has_error)
      cells.push_back(rank->times_last > 0 ? in_unit(rank->delay.error_ns, unit) : "-");
    cells.push_back(range(rank->delay_interval, unit));
    base::add_wrapped_row(table, std::move(cells), widths);
  }
  return table.render(2);
}

std::string recurring_text(const Straggler& rank, const Stragglers& found) {
  const RecurringLateness& recurring = *rank.recurring;
  const char* unit = found.lateness_per_step ? "step" : "collective";
  std::string text = fmt::format(
      "Rank {} is late now and then: in {} of {} {}s it comes last by {} (median), {} us more than "
      "in the others",
      rank.rank, grouped(recurring.late), grouped(recurring.steps), unit,
      format_us(recurring.when_late), us(recurring.when_late.value_ns - recurring.else_ns));
  if (const auto& one = recurring.recurrence)
    text += fmt::format(". That is every {} {}s, first in {} {} (counted from 0){}", one->every,
                        unit, unit, one->first,
                        one->late < one->steps
                            ? fmt::format(": {} of {} of these {}s", one->late, one->steps, unit)
                            : "");
  return text + ".";
}

// Of ranks that are far later in some steps than in others. What a lateness sums up to tells which
// of them matter.
std::string recurring_texts(const Stragglers& found) {
  auto sum_ns = [](const Straggler* rank) {
    return static_cast<double>(rank->recurring->late) * rank->recurring->when_late.value_ns;
  };
  std::vector<const Straggler*> shown;
  for (const Straggler& rank : found.ranks)
    if (rank.recurring && rank.recurring->late > 0)
      shown.push_back(&rank);
  if (shown.empty())
    return "";
  std::ranges::stable_sort(shown, std::ranges::greater{}, sum_ns);
  const double most_ns = sum_ns(shown.front());
  std::erase_if(shown, [&](const Straggler* rank) { return 10 * sum_ns(rank) < most_ns; });
  shown.resize(std::min(shown.size(), k_most_rows));
  std::string out;
  for (const Straggler* rank : shown)
    out += paragraph("  ", recurring_text(*rank, found), 2);
  if (found.repeated_collectives > 0)
    out += paragraph("  ",
                     fmt::format("The steps are not marked: they are {} repeats of the same {}.",
                                 grouped(found.lateness_steps),
                                 count_of(found.repeated_collectives, "collective", "collectives")),
                     2);
  return out;
}

// Printable and no longer than `most`.
std::string text_of(const Timeline& timeline, std::uint32_t id, std::size_t most) {
  std::string out = printable(id < timeline.texts.size() ? timeline.texts[id] : "");
  return out.size() <= most ? out : out.substr(0, most - 3) + "...";
}

// `place`: " in cell 3" where there are several.
std::string stragglers_of_cell(const Stragglers& found, const std::string& place) {
  if (found.skew.collectives == 0)
    return found.skew.single == 0
               ? ""
               : fmt::format("\nWho comes late{}\n", place) +
                     paragraph("  ",
                               fmt::format("Not known: each of the {} collectives has only one "
                                           "rank on the common clock. The others left no trace, "
                                           "or their hosts' clocks were never compared.",
                                           grouped(found.skew.single)),
                               2);
  std::vector<const Straggler*> shown;
  for (const Straggler& rank : found.ranks)
    shown.push_back(&rank);
  std::ranges::stable_sort(shown, std::ranges::greater{},
                           [](const Straggler* rank) { return rank->delay.value_ns; });
  if (shown.size() > k_most_rows)
    shown.resize(k_most_rows);
  double longest_ns = 0;
  for (const Straggler* rank : shown)
    longest_ns = std::max({longest_ns, rank->delay.value_ns, largest(rank->delay_interval),
                           largest(rank->lateness_interval), rank->delay.error_ns,
                           rank->lateness ? std::abs(rank->lateness->value_ns) : 0,
                           rank->lateness ? rank->lateness->error_ns : 0});
  const TimeUnit unit = short_unit_for(longest_ns);
  std::string out = fmt::format("\nWho comes late{}, {}, delays per {}\n", place, unit.name,
                                found.per_step ? "step" : "collective");
  out += paragraph(
      "  ",
      fmt::format(
          "Start skew of {} collectives ({} seen on all ranks that they are known to have, "
          "{} on one only): "
          "median {}, 99% within {}, largest {}.",
          grouped(found.skew.collectives), grouped(found.skew.complete), grouped(found.skew.single),
          with_interval(*found.skew.median, found.skew.median_interval),
          with_interval(*found.skew.p99, found.skew.p99_interval), format_us(*found.skew.largest)),
      2);
  out += straggler_table(shown, unit);
  if (shown.size() < found.ranks.size())
    out += fmt::format("  The {} worst of {} ranks; --format json has all.\n", shown.size(),
                       found.ranks.size());
  return out + recurring_texts(found);
}

// The cells of which most is told, those with the greatest figure first.
template <typename T, typename Figure>
std::vector<std::pair<int, const T*>> most_telling(const ByCell<T>& all, Figure figure) {
  std::vector<std::pair<int, const T*>> out;
  for (const auto& [cell, one] : all)
    out.emplace_back(cell, &one);
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [&](const auto& one) { return figure(*one.second); });
  out.resize(std::min(out.size(), k_most_cells));
  return out;
}

std::string more_cells(std::size_t shown, std::size_t all) {
  return shown < all ? fmt::format("  {} of {} cells; --format json has all.\n", shown, all) : "";
}

} // namespace

std::string render_stragglers(const ByCell<Stragglers>& found) {
  const auto shown = most_telling(found, [](const Stragglers& one) {
    double delay_ns = 0; // of all steps
    for (const Straggler& rank : one.ranks)
      delay_ns += rank.delay.value_ns * static_cast<double>(one.steps);
    return delay_ns;
  });
  std::string out;
  for (const auto& [cell, one] : shown)
    out += stragglers_of_cell(*one, found.size() > 1 ? fmt::format(" in cell {}", cell) : "");
  return out + more_cells(shown.size(), found.size());
}

namespace {

std::string slowdown_table(const Timeline& timeline, std::vector<KernelSlowdown> kernels) {
  kernels.resize(std::min(kernels.size(), k_most_rows));
  auto any = [&](auto is) { return std::ranges::any_of(kernels, is); };
  const bool kinds = any([](const KernelSlowdown& one) { return one.kinds > 1; });
  const bool elsewhere = any([](const KernelSlowdown& one) { return one.alone_cell >= 0; });
  const bool has_error = any([](const KernelSlowdown& one) { return one.sum.ratio_error() > 0; });
  // What the other columns leave of the report's width.
  const int name_columns = 43 - 10 * kinds - 9 * elsewhere - 8 * has_error;
  std::vector<base::TextTable::Column> columns{{"kernel", Align::left}, {"cell"}};
  if (kinds)
    columns.push_back({"kinds"});
  columns.push_back({"beside"});
  columns.push_back({"alone"});
  if (elsewhere)
    columns.push_back({"in cell"});
  columns.push_back({"ratio"});
  if (has_error)
    columns.push_back({"+-"});
  columns.push_back({"95%", Align::left});
  base::TextTable table(std::move(columns));
  for (const KernelSlowdown& one : kernels) {
    auto cell = [](int number) { return number < 0 ? "-" : std::to_string(number); };
    std::vector<std::string> cells{text_of(timeline, one.name, 72), cell(one.cell)};
    if (kinds)
      cells.push_back(one.sum.kinds == one.kinds || one.sum.kinds == 0
                          ? grouped(one.kinds)
                          : fmt::format("{} of {}", one.sum.kinds, one.kinds));
    cells.push_back(grouped(one.overlapped));
    cells.push_back(grouped(one.alone));
    if (elsewhere)
      cells.push_back(one.alone_cell >= 0 ? cell(one.alone_cell) : "");
    const auto ratio = one.sum.ratio();
    cells.push_back(!ratio               ? "too few"
                    : one.sum.is_shown() ? fmt::format("{:.3f}", *ratio)
                                         : "<2x +-");
    if (has_error)
      cells.push_back(ratio ? fmt::format("{:.3f}", one.sum.ratio_error()) : "");
    const auto interval = one.sum.interval();
    cells.push_back(interval && one.sum.is_shown()
                        ? fmt::format("[{:.3f}, {:.3f}]", interval->low, interval->high)
                        : "");
    base::add_wrapped_row(table, std::move(cells), {name_columns});
  }
  return table.render(2);
}

// `place`: "In cell 3, " where there are several.
std::string slowdown_text(const SlowdownSum& sum, bool communication, const std::string& place) {
  std::string what =
      communication ? "Communication beside computation" : "Computation beside communication";
  if (!place.empty())
    what = place + static_cast<char>(what[0] - 'A' + 'a') + what.substr(1);
  const std::string kinds = fmt::format("{} that ran both ways often enough",
                                        count_of(sum.kinds, "kind of kernel", "kinds of kernels"));
  if (!sum.ratio())
    return what + ": no kind of kernel ran both ways often enough.";
  if (!sum.is_shown())
    return fmt::format("{}: the difference from alone is below twice the clocks' error of "
                       "{:.3f} ({}).",
                       what, sum.ratio_error(), kinds);
  return fmt::format("{} takes {:.3f}{} times as long as alone ({}).", what, *sum.ratio(),
                     sum.ratio_error() > 0 ? fmt::format(" +- {:.3f}", sum.ratio_error()) : "",
                     kinds);
}

} // namespace

std::string render_slowdowns(const Timeline& timeline) {
  if (timeline.slowdowns.empty())
    return "";
  std::string out = "\nSlowdown by overlap\n";
  const std::vector<KernelSlowdown> all = by_kernel(timeline.slowdowns);
  for (bool communication : {false, true}) {
    std::vector<KernelSlowdown> kernels;
    std::ranges::copy_if(all, std::back_inserter(kernels), [&](const KernelSlowdown& one) {
      return one.communication == communication;
    });
    if (kernels.empty())
      continue;
    const ByCell<SlowdownSum> sums = sums_of(timeline.slowdowns, communication);
    for (const auto& [cell, sum] : sums)
      out += paragraph("  ",
                       slowdown_text(sum, communication,
                                     sums.size() > 1 ? fmt::format("In cell {}, ", cell) : ""),
                       2);
    out += slowdown_table(timeline, std::move(kernels));
  }
  return out;
}

namespace {

// Rows of one table, by cell.
class ChoiceRows {
public:
  template <typename IsShown>
  ChoiceRows(const Timeline& timeline, IsShown is_shown) : timeline_(timeline) {
    for (const auto& choice : timeline.choices) {
      names_cells_ = names_cells_ || choice.first.cell != timeline.choices.begin()->first.cell;
      if (is_shown(choice.second))
        all_.push_back(&choice);
    }
    // What took most time.
    if (all_.size() > k_most_table_rows) {
      left_out_ = all_.size() - k_most_table_rows;
      std::ranges::stable_sort(all_, std::ranges::greater{},
                               [](const auto* one) { return one->second.length_ns; });
      all_.resize(k_most_table_rows);
      std::ranges::sort(all_, {}, [](const auto* one) { return one->first; });
    }
  }
  const std::vector<const NcclChoices::value_type*>& all() const { return all_; }
  std::vector<base::TextTable::Column> columns() const {
    std::vector<base::TextTable::Column> columns{{"function", Align::left},
                                                 {"algorithm", Align::left},
                                                 {"protocol", Align::left},
                                                 {"channels"},
                                                 {"count"}};
    if (names_cells_)
      columns.insert(columns.begin(), {"cell"});
    return columns;
  }
  std::vector<std::string> cells(const NcclChoice& choice, std::uint64_t count) const {
    std::vector<std::string> cells{
        text_of(timeline_, choice.function, 13), text_of(timeline_, choice.algorithm, 12),
        text_of(timeline_, choice.protocol, 8), std::to_string(choice.channels), grouped(count)};
    if (names_cells_)
      cells.insert(cells.begin(), std::to_string(choice.cell));
    return cells;
  }
  std::string rest() const {
    return left_out_ > 0
               ? fmt::format("  {} more that took less; --format json has all.\n", left_out_)
               : "";
  }

private:
  const Timeline& timeline_;
  std::vector<const NcclChoices::value_type*> all_;
  bool names_cells_ = false;
  std::size_t left_out_ = 0;
};

void add_columns(std::vector<base::TextTable::Column>& to,
                 std::initializer_list<const char*> titles) {
  for (const char* title : titles)
    to.push_back({title});
}

std::string channels_table(const Timeline& timeline) {
  const ChoiceRows rows(timeline,
                        [](const NcclChoiceTime& time) { return time.channels.operations > 0; });
  if (rows.all().empty())
    return "";
  auto columns = rows.columns();
  add_columns(columns, {"fastest", "slowest", "starts", "ends"});
  base::TextTable table(std::move(columns));
  auto medians_of = [](const ChannelTimes& channels) {
    std::vector<std::pair<double, int>> medians;
    for (const auto& [channel, lengths] : channels.lengths_ns)
      medians.emplace_back(median(lengths.values()), channel);
    return medians;
  };
  double longest_ns = 0;
  for (const auto* row : rows.all()) {
    const ChannelTimes& channels = row->second.channels;
    longest_ns = std::max({longest_ns, std::ranges::max(medians_of(channels)).first,
                           median(channels.starts_apart_ns.values()),
                           median(channels.ends_apart_ns.values())});
  }
  const TimeUnit unit = short_unit_for(longest_ns);
  for (const auto* row : rows.all()) {
    const ChannelTimes& channels = row->second.channels;
    const auto medians = medians_of(channels);
    const auto [fastest, slowest] = std::ranges::minmax(medians);
    auto cells = rows.cells(row->first, channels.operations);
    for (const auto& [median_ns, channel] : {fastest, slowest})
      cells.push_back(fmt::format("{}: {}", channel, in_unit(median_ns, unit)));
    cells.push_back(in_unit(median(channels.starts_apart_ns.values()), unit));
    cells.push_back(in_unit(median(channels.ends_apart_ns.values()), unit));
    table.add_row(std::move(cells));
  }
  return fmt::format("\nNCCL's channels, {}: the fastest and the slowest with its number, and how "
                     "far apart their starts and ends are\n",
                     unit.name) +
         table.render(2) + rows.rest() + "  Medians, by the GPU's clock.\n";
}

} // namespace

std::string render_choices(const Timeline& timeline) {
  if (timeline.choices.empty())
    return "";
  const ChoiceRows rows(timeline, [](const NcclChoiceTime&) { return true; });
  const bool has_error = std::ranges::any_of(
      rows.all(), [](const auto* one) { return one->second.wait_error_ns > 0; });
  const bool knows_waits =
      std::ranges::any_of(timeline.ranks, [](const auto& rank) { return rank.matched > 0; });
  double longest_ns = 0, most_ns = 0;
  for (const auto* row : rows.all())
    if (const NcclChoiceTime& time = row->second; time.timed > 0) {
      const auto timed = static_cast<double>(time.timed);
      longest_ns =
          std::max({longest_ns, median(time.lengths_ns.values()),
                    static_cast<double>(time.length_ns) / timed, time.wait_error_ns / timed});
      most_ns = std::max(most_ns, static_cast<double>(time.length_ns));
    }
  const TimeUnit unit = short_unit_for(longest_ns), unit_of_all = short_unit_for(most_ns);
  auto columns = rows.columns();
  add_columns(columns, {"median", "mean", has_error ? "wait" : "of it wait"});
  if (has_error)
    add_columns(columns, {"+-"});
  columns.push_back({fmt::format("all, {}", unit_of_all.name)});
  const std::size_t width = columns.size();
  base::TextTable table(std::move(columns));
  for (const auto* row : rows.all()) {
    const NcclChoiceTime& time = row->second;
    auto cells = rows.cells(row->first, time.operations);
    if (time.timed > 0) {
      const auto timed = static_cast<double>(time.timed);
      const Aligned wait{static_cast<double>(time.wait_ns) / timed, time.wait_error_ns / timed};
      cells.push_back(in_unit(median(time.lengths_ns.values()), unit));
      cells.push_back(in_unit(static_cast<double>(time.length_ns) / timed, unit));
      cells.push_back(knows_waits ? within_error(wait, unit) : "-");
      if (has_error)
        cells.push_back(in_unit(wait.error_ns, unit));
      cells.push_back(in_unit(static_cast<double>(time.length_ns), unit_of_all));
    }
    cells.resize(width, "-");
    table.add_row(std::move(cells));
  }
  return fmt::format("\nWhat NCCL chose, {} per operation\n", unit.name) + table.render(2) +
         rows.rest() + channels_table(timeline);
}

std::string render_gaps(const ByCell<Gaps>& found) {
  // The cells whose streams stood still for longest.
  std::vector<std::pair<int, std::int64_t>> cells;
  for (const auto& [cell, gaps] : found) {
    std::int64_t sum_ns = 0;
    for (const Gaps::Sum& cause : gaps.causes)
      sum_ns += cause.length_ns;
    if (sum_ns > 0)
      cells.emplace_back(cell, sum_ns);
  }
  if (cells.empty())
    return "";
  const std::size_t all = cells.size();
  std::ranges::stable_sort(cells, std::ranges::greater{}, &std::pair<int, std::int64_t>::second);
  cells.resize(std::min(all, k_most_table_rows / k_gap_causes));
  std::ranges::sort(cells);
  std::vector<base::TextTable::Column> columns{{"cause", Align::left}, {"gaps"}, {"ms"}, {"share"}};
  if (all > 1)
    columns.insert(columns.begin(), {"cell"});
  base::TextTable table(std::move(columns));
  for (const auto& [cell, sum_ns] : cells) {
    const Gaps& gaps = found.at(cell);
    for (auto [cause, words] :
         {std::pair{GapCause::launch_late, "the host launched late"},
          {GapCause::event, "waited for an event"},
          {GapCause::other, gaps.events_traced ? "other" : "other, or an event (see --trace api)"},
          {GapCause::unknown, "the launch was not recorded"}})
      if (const Gaps::Sum& of_cause = gaps.of(cause); of_cause.count > 0) {
        std::vector<std::string> row{
            words, grouped(of_cause.count),
            fmt::format("{:.3f}", static_cast<double>(of_cause.length_ns) / 1e6),
            percent(static_cast<double>(of_cause.length_ns), static_cast<double>(sum_ns))};
        if (all > 1)
          row.insert(row.begin(), std::to_string(cell));
        table.add_row(std::move(row));
      }
  }
  return "\nWhy streams were idle\n" + table.render(2) + more_cells(cells.size(), all);
}

} // namespace ncclprobe::analysis
