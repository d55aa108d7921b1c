// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/comparison_tables.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "base/text_table.h"
#include "base/units.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Results = std::vector<const SettingResult*>;

constexpr int k_name_columns = 34;

struct SettingRow {
  std::string name;
  std::vector<const Comparison*> comparisons;
  std::set<std::uint64_t> wrong_sizes; // never compared

  int count(Verdict verdict) const {
    return static_cast<int>(
        std::count_if(comparisons.begin(), comparisons.end(),
                      [&](const Comparison* one) { return one->verdict == verdict; }));
  }
};

bool is_found(const Comparison& one) {
  return one.verdict == Verdict::better || one.verdict == Verdict::worse;
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.2f}x", ratio);
}

std::string p_text(double p) {
  return p < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", p);
}

// Geometric mean of the ratios in a class, where no difference counts as 1; "=" if there is none.
// In parentheses if nothing in the class is decided.
std::string class_text(const SettingRow& row, int wanted) {
  double found_sum = 0, open_sum = 0; // of logarithms
  int decided = 0, open = 0, found = 0;
  for (std::uint64_t bytes : row.wrong_sizes)
    if (size_class(bytes) == wanted)
      return "WRONG";
  for (const Comparison* one : row.comparisons) {
    if (size_class(one->setting->label.bytes) != wanted)
      continue;
    if (one->verdict == Verdict::not_decided) {
      ++open;
      open_sum += std::log(one->speed_ratio);
      continue;
    }
    ++decided;
    if (is_found(*one)) {
      ++found;
      found_sum += std::log(one->speed_ratio);
    }
  }
  if (found > 0)
    return ratio_text(std::exp(found_sum / decided));
  if (decided > 0)
    return "=";
  return open == 0 ? "-" : "(" + ratio_text(std::exp(open_sum / open)) + ")";
}

// Settings that the run tried, but that have nothing to compare in this family, and why.
std::vector<std::string> absent_settings(const model::Run& run, const SettingResult& family,
                                         const std::vector<SettingRow>& rows) {
  std::vector<std::string> absent;
  std::vector<std::string> seen;
  for (const model::TrialRecord& trial : run.trials) {
    if (trial.spec.purpose != model::Purpose::measure)
      continue;
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      SettingResult place{.label = cell.label,
                          .timing_mode = cell.timing.mode,
                          .ranks = communicator_size(trial.spec, cell)};
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
  }
  std::sort(absent.begin(), absent.end());
  return absent;
}

std::vector<SettingRow> comparison_rows(const Results& family, const Verdicts& verdicts) {
  std::vector<SettingRow> rows;
  for (const SettingResult* result : family) {
    if (result->is_default)
      continue;
    const Comparison* comparison = verdicts.of(*result);
    bool wrong = result->data == DataState::wrong;
    if (!comparison && !wrong)
      continue;
    std::string name = printable(result->setting);
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const SettingRow& one) { return one.name == name; });
    if (row == rows.end())
      row = rows.insert(rows.end(), SettingRow{name, {}, {}});
    if (comparison)
      row->comparisons.push_back(comparison);
    if (wrong)
      row->wrong_sizes.insert(result->label.bytes);
  }
  std::sort(rows.begin(), rows.end(),
            [](const SettingRow& a, const SettingRow& b) { return a.name < b.name; });
  return rows;
}

// The rest of a long name stands in rows of its own.
void add_named_row(TextTable& table, const std::string& name, std::vector<std::string> cells) {
  auto lines = wrap(name, k_name_columns);
  cells.insert(cells.begin(), lines.front());
  table.add_row(std::move(cells));
  for (std::size_t i = 1; i < lines.size(); ++i)
    table.add_row({"  " + lines[i]});
}

std::string render_by_class(const std::vector<SettingRow>& rows) {
  std::set<std::uint64_t> sizes[k_size_classes];
  for (const SettingRow& row : rows) {
    for (const Comparison* one : row.comparisons)
      sizes[size_class(one->setting->label.bytes)].insert(one->setting->label.bytes);
    for (std::uint64_t bytes : row.wrong_sizes)
      sizes[size_class(bytes)].insert(bytes);
  }
  std::vector<TextTable::Column> columns{{"setting", TextTable::Align::left}};
  for (const auto& of_class : sizes) {
    if (of_class.empty())
      continue;
    std::string last = base::format_bytes(*of_class.rbegin());
    columns.push_back(
        {of_class.size() == 1 ? last : base::format_bytes(*of_class.begin()) + "-" + last});
  }
  columns.insert(columns.end(), {{"better"}, {"worse"}, {"same"}, {"open"}});
  TextTable text(std::move(columns));
  for (const SettingRow& row : rows) {
    std::vector<std::string> cells;
    for (int c = 0; c < k_size_classes; ++c)
      if (!sizes[c].empty())
        cells.push_back(class_text(row, c));
    for (Verdict verdict :
         {Verdict::better, Verdict::worse, Verdict::no_difference, Verdict::not_decided})
      cells.push_back(std::to_string(row.count(verdict)));
    add_named_row(text, row.name, std::move(cells));
  }
  return text.render(2);
}

// Each cell that is better or worse. A setting's name stands beside its first cells.
std::string render_found(const std::vector<SettingRow>& rows) {
  TextTable text({{"setting", TextTable::Align::left},
                  {"verdict", TextTable::Align::left},
                  {"size"},
                  {"ratio"},
                  {fmt::format("{:.0f}% interval", 100 * k_confidence)},
                  {"adjusted p"}});
  bool any = false;
  for (const SettingRow& row : rows) {
    auto name = wrap(row.name, k_name_columns);
    std::size_t line = 0;
    auto next_line = [&] {
      std::string part = line >= name.size() ? "" : (line == 0 ? "" : "  ") + name[line];
      ++line;
      return part;
    };
    for (const Comparison* one : row.comparisons)
      if (is_found(*one))
        text.add_row(
            {next_line(),
             fmt::format("{}{}", model::to_string(one->verdict), one->throttled ? " *" : ""),
             base::format_bytes(one->setting->label.bytes), ratio_text(one->speed_ratio),
             fmt::format("{:.3f}-{:.3f}", one->interval->low, one->interval->high),
             p_text(*one->adjusted_p)});
    any = any || line > 0;
    while (line > 0 && line < name.size())
      text.add_row({next_line()});
  }
  return any ? text.render(2) : "";
}

// "0.42% to 115%": the differences that would have had a verdict, of the comparisons that
// `is_meant` chooses. Empty if there are none.
std::string detectable_range(const std::vector<SettingRow>& rows,
                             const std::function<bool(const Comparison&)>& is_meant) {
  double low = HUGE_VAL, high = 0;
  for (const SettingRow& row : rows)
    for (const Comparison* one : row.comparisons)
      if (is_meant(*one)) {
        low = std::min(low, *one->detectable);
        high = std::max(high, *one->detectable);
      }
  if (high == 0)
    return "";
  std::string range = percent_above(low);
  if (std::string last = percent_above(high); last != range)
    range += " to " + last;
  return range;
}

// What the cells without a verdict could have hidden.
std::string render_detectable(const std::vector<SettingRow>& rows) {
  std::string out;
  if (std::string range = detectable_range(
          rows, [](const Comparison& one) { return one.verdict == Verdict::no_difference; });
      !range.empty())
    out += paragraph("",
                     "No difference: the smallest detectable difference is " + range +
                         ", depending on the cell.",
                     2);
  if (std::string range =
          detectable_range(rows, [](const Comparison& one) { return one.too_noisy; });
      !range.empty())
    out += paragraph("",
                     "Open, too noisy for a verdict: the smallest detectable difference is " +
                         range + ", depending on the cell.",
                     2);
  return out;
}

} // namespace

std::string render_comparison(const model::Run& run, const Results& family,
                              const Verdicts& verdicts) {
  auto rows = comparison_rows(family, verdicts);
  auto absent = absent_settings(run, *family.front(), rows);
  if (rows.empty() && absent.empty())
    return "";
  const SettingResult& lead = *family.front();
  std::string out =
      paragraph("",
                fmt::format("{}, {}: settings against the default{}", describe(lead),
                            placement_text(lead.label.placement), synthetic_mark(run)),
                0);
  bool with_default = std::any_of(family.begin(), family.end(),
                                  [](const SettingResult* result) { return result->is_default; });
  if (!with_default)
    return out +
           paragraph("", "The default has no result, so there is nothing to compare with.", 2);
  if (!rows.empty())
    out += render_by_class(rows) + render_detectable(rows) + render_found(rows);
  if (!absent.empty())
    out += paragraph("  No result:", join(absent, ", "), 13);
  return out;
}

} // namespace ncclprobe::analysis
