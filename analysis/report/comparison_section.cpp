// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/comparison_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/result_charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace ncclprobe::analysis {
namespace {

using Results = std::vector<const SettingResult*>;

constexpr int k_name_columns = 36;

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

// Settings that the run tried but that cannot be compared in this family, and why.
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

TablePtr by_class_table(std::vector<SettingRow> all_rows) {
  TableOf<SettingRow> table(std::move(all_rows));
  std::set<std::uint64_t> sizes[k_size_classes];
  for (const SettingRow& row : table.rows()) {
    for (const Comparison* one : row.comparisons)
      sizes[size_class(one->setting->label.bytes)].insert(one->setting->label.bytes);
    for (std::uint64_t bytes : row.wrong_sizes)
      sizes[size_class(bytes)].insert(bytes);
  }
  table.show("setting", &SettingRow::name).left(k_name_columns);
  for (int c = 0; c < k_size_classes; ++c)
    if (!sizes[c].empty()) {
      const std::string last = size_text(*sizes[c].rbegin());
      table.show(sizes[c].size() == 1 ? last : size_text(*sizes[c].begin()) + "-" + last,
                 [c](const SettingRow& row) { return class_text(row, c); });
    }
  for (auto [title, verdict] :
       {std::pair("better", Verdict::better), std::pair("worse", Verdict::worse),
        std::pair("same", Verdict::no_difference), std::pair("open", Verdict::not_decided)})
    table.show(title, [verdict = verdict](const SettingRow& row) { return row.count(verdict); });
  return table.table();
}

// Each cell that is better or worse.
TablePtr found_table(const std::vector<SettingRow>& rows) {
  std::vector<const Comparison*> found;
  for (const SettingRow& row : rows)
    std::copy_if(row.comparisons.begin(), row.comparisons.end(), std::back_inserter(found),
                 [](const Comparison* one) { return is_found(*one); });
  using Row = const Comparison*;
  TableOf<Row> table(std::move(found));
  table.show("setting", [](Row one) { return one->setting->setting; }).left(k_name_columns).once();
  table
      .show("verdict",
            [](Row one) {
              return fmt::format("{}{}", model::to_string(one->verdict),
                                 one->throttled ? " *" : "");
            })
      .left();
  table.show("size", [](Row one) { return one->setting->label.bytes; }, {Unit::size});
  table.show("ratio", [](Row one) { return one->speed_ratio; }, {Unit::ratio, 3});
  table.show(fmt::format("{:.0f}% interval", 100 * k_confidence),
             [](Row one) {
               return List{one->interval->low, one->interval->high};
             },
             {Unit::fixed, 3});
  table.show("adjusted p", [](Row one) { return one->adjusted_p; }, {Unit::chance});
  return table.table();
}

// "0.42% to 115%, depending on the cell": the smallest detectable differences of the comparisons
// that `is_meant` selects. Empty if there are none.
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
    range += fmt::format(" to {}, depending on the cell", last);
  return range;
}

// The differences that cells without a verdict could hide.
void add_detectable(std::vector<Block>& blocks, const std::vector<SettingRow>& rows) {
  auto add = [&](const char* which, auto is_meant) {
    if (std::string range = detectable_range(rows, is_meant); !range.empty())
      blocks.push_back(
          Text{"", fmt::format("{}: the smallest detectable difference is {}.", which, range), 2});
  };
  add("No difference", [](const Comparison& one) { return one.verdict == Verdict::no_difference; });
  add("Open, too noisy for a verdict", [](const Comparison& one) { return one.too_noisy; });
}

} // namespace

Section comparison_section(const RunFigures& figures,
                           const std::vector<const SettingResult*>& family) {
  auto rows = comparison_rows(family, figures.verdicts);
  auto absent = absent_settings(figures.run, *family.front(), rows);
  Section section{"comparison"};
  if (rows.empty() && absent.empty())
    return section;
  const SettingResult& lead = *family.front();
  section.title = fmt::format("{}, {}: settings against the default{}", describe(lead),
                              placement_text(lead.label.placement), synthetic_mark(figures.run));
  if (std::none_of(family.begin(), family.end(),
                   [](const SettingResult* result) { return result->is_default; })) {
    section.blocks.push_back(
        Text{"", "The default has no result, so there is nothing to compare with.", 2});
    return section;
  }
  if (!rows.empty()) {
    section.blocks.push_back(View{by_class_table(rows)});
    std::vector<const Comparison*> compared;
    for (const SettingRow& row : rows)
      compared.insert(compared.end(), row.comparisons.begin(), row.comparisons.end());
    section.charts.push_back(comparison_chart("Speed against the default: " + describe(lead),
                                              compared, figures.verdicts));
    add_detectable(section.blocks, rows);
    if (TablePtr found = found_table(rows); found->rows > 0)
      section.blocks.push_back(View{found});
  }
  if (!absent.empty())
    section.blocks.push_back(Text{"  No result:", join(absent, ", "), 13});
  return section;
}

} // namespace ncclprobe::analysis
