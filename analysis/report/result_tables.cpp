// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/result_tables.h"

#include "analysis/compare.h"
#include "analysis/report/heading.h"
#include "analysis/report/text_layout.h"
#include "base/text_table.h"
#include "base/units.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Results = std::vector<const SettingResult*>;

constexpr std::string_view k_wrong = "WRONG";

// Runs of neighbours for which `same` holds; the results are sorted so that this groups them.
template <typename Same>
std::vector<Results> split(const Results& results, Same same) {
  std::vector<Results> groups;
  for (const SettingResult* result : results) {
    bool joins = std::any_of(groups.begin(), groups.end(), [&](Results& group) {
      if (!same(*group.front(), *result))
        return false;
      group.push_back(result);
      return true;
    });
    if (!joins)
      groups.push_back({result});
  }
  return groups;
}

// As same_family, but both placements stand in one table.
bool same_table(const SettingResult& a, const SettingResult& b) {
  SettingResult other{.label = b.label, .ranks = b.ranks};
  other.label.placement = a.label.placement;
  return same_family(a, other);
}

bool has_both_placements(const Results& results) {
  return std::any_of(results.begin(), results.end(), [&](const SettingResult* result) {
    return result->label.placement != results.front()->label.placement;
  });
}

std::string placement_text(model::Placement placement) {
  return placement == model::Placement::in_place ? "in place" : "out of place";
}

std::string spread_source(const SettingResult& result) {
  if (result.spread_over == SettingResult::SpreadOver::nothing)
    return "-";
  return fmt::format("{} {}", result.spread_count,
                     result.spread_over == SettingResult::SpreadOver::processes ? "processes"
                                                                                : "batches");
}

std::string slowest_text(const SettingResult& result) {
  if (!result.slowest)
    return "-";
  double percent = 100 * (result.slowest->time_ns / result.time_ns - 1);
  return percent < 0.05 ? "-" : fmt::format("r{} +{:.1f}%", result.slowest->rank, percent);
}

std::string data_text(const SettingResult& result) {
  switch (result.data) {
  case DataState::wrong:
    return std::string(k_wrong);
  case DataState::unchecked:
    return "unchecked";
  case DataState::checked:
    break;
  }
  return result.checked_elements == 0 ? "-" : "ok"; // a size without elements has nothing to check
}

// What the rows' data columns leave unsaid.
std::string data_footnotes(const Results& rows) {
  std::vector<std::string> notes;
  for (const SettingResult* row : rows)
    for (const std::string& note : row->data_notes) {
      std::string line = data_text(*row) + ": " + printable(note);
      if (row->data == DataState::wrong)
        line = base::format_bytes(row->label.bytes) + " " + line;
      if (std::find(notes.begin(), notes.end(), line) == notes.end())
        notes.push_back(line);
    }
  std::string out;
  for (const std::string& note : notes)
    out += paragraph("", note, 2);
  return out;
}

// The default's figures; without a result of the default, those of the first setting that has one.
std::string render_figures(const model::Run& run, const Results& table) {
  auto chosen = std::find_if(table.begin(), table.end(),
                             [](const SettingResult* result) { return result->is_default; });
  const SettingResult& lead = chosen == table.end() ? *table.front() : **chosen;
  Results rows;
  for (const SettingResult* result : table)
    if (result->setting == lead.setting)
      rows.push_back(result);

  bool placements = has_both_placements(rows);
  bool busbw = std::any_of(rows.begin(), rows.end(), [](const SettingResult* row) {
    return row->busbw_gb_per_s.has_value();
  });
  std::string caption =
      fmt::format("{}{}, {}, {}{}", describe(lead.label),
                  placements ? "" : ", " + placement_text(lead.label.placement),
                  count_of(static_cast<std::size_t>(lead.ranks), "rank", "ranks"),
                  lead.is_default ? "default settings"
                                  : printable(lead.setting) + " (the default has no result)",
                  synthetic_mark(run));

  std::vector<TextTable::Column> columns{{"size"}};
  if (placements)
    columns.push_back({"place", TextTable::Align::left});
  columns.insert(columns.end(), {{"time us"}, {"algbw GB/s"}});
  if (busbw)
    columns.push_back({"busbw GB/s"});
  columns.insert(columns.end(),
                 {{"spread %"}, {"over"}, {"slowest"}, {"data", TextTable::Align::left}});

  TextTable text(std::move(columns));
  for (const SettingResult* row : rows) {
    std::vector<std::string> cells{base::format_bytes(row->label.bytes)};
    if (placements)
      cells.push_back(row->label.placement == model::Placement::in_place ? "in" : "out");
    cells.push_back(format_number(row->time_ns / 1e3));
    cells.push_back(format_number(row->algbw_gb_per_s));
    if (busbw)
      cells.push_back(format_number(row->busbw_gb_per_s));
    cells.push_back(row->spread_percent ? fmt::format("{:.1f}", *row->spread_percent) : "-");
    cells.push_back(spread_source(*row));
    cells.push_back(slowest_text(*row));
    cells.push_back(data_text(*row));
    text.add_row(std::move(cells));
  }
  return paragraph("", caption, 0) + text.render(2) + data_footnotes(rows);
}

// Sizes that are alike for the eye of someone who tunes: latency-bound, in between,
// bandwidth-bound.
int size_class(std::uint64_t bytes) {
  return bytes <= std::uint64_t{64} << 10 ? 0 : bytes <= std::uint64_t{4} << 20 ? 1 : 2;
}
constexpr int k_size_classes = 3;

struct SettingRow {
  std::string name;
  std::vector<Comparison> comparisons;
  std::set<std::uint64_t> wrong_sizes; // never compared
};

std::string ratio_text(double ratio) {
  return fmt::format("{:.2f}x", ratio);
}

// Geometric mean of the ratios in a class, where a size within the spread counts as no difference;
// "=" if all are.
std::string class_text(const SettingRow& row, int wanted) {
  double log_sum = 0;
  int count = 0;
  bool differs = false;
  for (std::uint64_t bytes : row.wrong_sizes)
    if (size_class(bytes) == wanted)
      return std::string(k_wrong);
  for (const Comparison& one : row.comparisons) {
    if (size_class(one.setting->label.bytes) != wanted)
      continue;
    ++count;
    if (one.within_spread)
      continue;
    log_sum += std::log(one.speed_ratio);
    differs = true;
  }
  if (count == 0)
    return "-";
  return differs ? ratio_text(std::exp(log_sum / count)) : "=";
}

std::string largest_text(const SettingRow& row) {
  if (!row.wrong_sizes.empty())
    return "WRONG DATA";
  const Comparison* largest = nullptr;
  for (const Comparison& one : row.comparisons)
    if (!one.within_spread && (!largest || std::abs(std::log(one.speed_ratio)) >
                                               std::abs(std::log(largest->speed_ratio))))
      largest = &one;
  if (!largest)
    return "none";
  return fmt::format("{} at {} ({:.2f}-{:.2f})", ratio_text(largest->speed_ratio),
                     base::format_bytes(largest->setting->label.bytes), largest->lowest_ratio,
                     largest->highest_ratio);
}

// Settings that the run tried, but that have nothing to compare in this family, and why.
std::vector<std::string> absent_settings(const model::Run& run, const SettingResult& family,
                                         const std::vector<SettingRow>& rows) {
  std::vector<std::string> absent;
  std::vector<std::string> seen;
  for (const model::TrialRecord& trial : run.trials)
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      SettingResult place{.label = cell.label, .ranks = communicator_size(trial.spec, cell)};
      if (is_default(trial.spec, cell) || !same_family(family, place))
        continue;
      std::string name = printable(setting_name(trial.spec, cell));
      bool known = std::find(seen.begin(), seen.end(), name) != seen.end() ||
                   std::any_of(rows.begin(), rows.end(),
                               [&](const SettingRow& row) { return row.name == name; });
      if (known)
        continue;
      seen.push_back(name);
      absent.push_back(fmt::format("{} ({}, trial {})", name, model::to_string(trial.outcome.kind),
                                   trial.spec.id));
    }
  std::sort(absent.begin(), absent.end());
  return absent;
}

std::vector<SettingRow> comparison_rows(const Results& family,
                                        const std::vector<SettingResult>& all) {
  std::vector<SettingRow> rows;
  for (const SettingResult* result : family) {
    if (result->is_default)
      continue;
    auto comparison = compare(*result, all);
    bool wrong = result->data == DataState::wrong;
    if (!comparison && !wrong)
      continue;
    std::string name = printable(result->setting);
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const SettingRow& one) { return one.name == name; });
    if (row == rows.end())
      row = rows.insert(rows.end(), SettingRow{name, {}, {}});
    if (comparison)
      row->comparisons.push_back(*comparison);
    if (wrong)
      row->wrong_sizes.insert(result->label.bytes);
  }
  std::sort(rows.begin(), rows.end(),
            [](const SettingRow& a, const SettingRow& b) { return a.name < b.name; });
  return rows;
}

std::string render_comparison(const model::Run& run, const Results& family,
                              const std::vector<SettingResult>& all) {
  auto rows = comparison_rows(family, all);
  auto absent = absent_settings(run, *family.front(), rows);
  if (rows.empty() && absent.empty())
    return "";
  const SettingResult& lead = *family.front();
  std::string out =
      paragraph("",
                fmt::format("{}, {}: settings against the default{}", describe(lead.label),
                            placement_text(lead.label.placement), synthetic_mark(run)),
                0);
  bool with_default = std::any_of(family.begin(), family.end(),
                                  [](const SettingResult* result) { return result->is_default; });
  if (!with_default)
    return out +
           paragraph("", "The default has no result, so there is nothing to compare with.", 2);

  if (!rows.empty()) {
    std::set<std::uint64_t> sizes[k_size_classes];
    for (const SettingRow& row : rows)
      for (const Comparison& one : row.comparisons)
        sizes[size_class(one.setting->label.bytes)].insert(one.setting->label.bytes);
    for (const SettingRow& row : rows)
      for (std::uint64_t bytes : row.wrong_sizes)
        sizes[size_class(bytes)].insert(bytes);
    std::vector<TextTable::Column> columns{{"setting", TextTable::Align::left}};
    for (const auto& of_class : sizes) {
      if (of_class.empty())
        continue;
      std::string last = base::format_bytes(*of_class.rbegin());
      columns.push_back(
          {of_class.size() == 1 ? last : base::format_bytes(*of_class.begin()) + "-" + last});
    }
    columns.push_back({"largest difference", TextTable::Align::left});
    TextTable text(std::move(columns));
    for (const SettingRow& row : rows) {
      auto name = wrap(row.name, 34);
      std::vector<std::string> cells{name.front()};
      for (int c = 0; c < k_size_classes; ++c)
        if (!sizes[c].empty())
          cells.push_back(class_text(row, c));
      cells.push_back(largest_text(row));
      text.add_row(std::move(cells));
      for (std::size_t i = 1; i < name.size(); ++i)
        text.add_row({"  " + name[i]});
    }
    out += text.render(2);
  }
  if (!absent.empty())
    out += paragraph("  No result:", join(absent, ", "), 13);
  return out;
}

} // namespace

std::string render_result_tables(const model::Run& run, const std::vector<SettingResult>& results) {
  Results all;
  for (const SettingResult& result : results)
    all.push_back(&result);
  std::string out;
  for (const Results& table : split(all, same_table)) {
    out += "\n" + render_figures(run, table);
    for (const Results& family : split(table, same_family))
      if (std::string text = render_comparison(run, family, results); !text.empty())
        out += "\n" + text;
  }
  return out;
}

std::string render_reading_notes(const std::vector<SettingResult>& results) {
  if (results.empty())
    return "";
  constexpr int k_hang = 13;
  bool compared = std::any_of(results.begin(), results.end(), [&](const SettingResult& result) {
    return compare(result, results).has_value();
  });
  bool lone_default = std::any_of(results.begin(), results.end(), [](const SettingResult& result) {
    return result.is_default && result.processes.size() < 2;
  });
  std::string out = "\nHow to read this\n";
  out += paragraph(
      "  time us",
      "per operation: mean over ranks, median over batches, then over processes. Launches are "
      "back to back: at small sizes this is the inverse of throughput, not a latency.",
      k_hang);
  out += paragraph(
      "  GB/s",
      "1e9 bytes/s. algbw, busbw as in nccl-tests; busbw is a ring's: switches can beat it.",
      k_hang);
  out += paragraph("  spread %", "(largest - smallest) / median of what \"over\" counts.", k_hang);
  out +=
      paragraph("  slowest", "the slowest rank's own time against the mean of all ranks.", k_hang);
  if (compared) {
    out += paragraph(
        "  1.10x",
        "10% more GB/s than the default (geometric mean over a range of sizes). In brackets "
        "the least and the most that the extremes of both allow.",
        k_hang);
    out += paragraph(
        "  =",
        "Differences within the spread of the default or of the setting are not shown (the range "
        "in brackets would include 1). What is shown is an observation, not a verdict.",
        k_hang);
    if (lone_default)
      out += paragraph(
          "",
          "Some default results come from one process: their spread is that of batches and "
          "says nothing about how processes differ (--repeat runs more).",
          k_hang);
  }
  return out;
}

std::string render_summary(const model::Run& run, const std::vector<SettingResult>& results) {
  Results all;
  for (const SettingResult& result : results)
    if (result.is_default && result.data != DataState::wrong)
      all.push_back(&result);
  std::string out;
  for (const Results& table : split(all, same_table)) {
    auto by_bandwidth = [](const SettingResult* a, const SettingResult* b) {
      return a->busbw_gb_per_s < b->busbw_gb_per_s;
    };
    const SettingResult& peak = **std::max_element(table.begin(), table.end(), by_bandwidth);
    const SettingResult& smallest = *table.front();
    std::string text = fmt::format("{} us at {}", format_number(smallest.time_ns / 1e3),
                                   base::format_bytes(smallest.label.bytes));
    if (peak.busbw_gb_per_s)
      text = fmt::format("busbw up to {} GB/s, at {}; {}", format_number(peak.busbw_gb_per_s),
                         base::format_bytes(peak.label.bytes), text);
    out += paragraph("  ", fmt::format("{}: {}{}", describe(peak.label), text, synthetic_mark(run)),
                     2);
  }
  return out.empty() ? "" : "\nIn short, with default settings\n" + out;
}

} // namespace ncclprobe::analysis
