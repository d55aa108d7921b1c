// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/result_charts.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/label_words.h"

#include <algorithm>
#include <functional>
#include <set>

namespace ncclprobe::analysis {
namespace {

constexpr const char* k_size = "size_bytes";
constexpr const char* k_step_name = "step";

struct CurveRow {
  const SettingResult* result;
  std::string line; // the setting, and the placement if both were measured
};

std::vector<CurveRow> curve_rows(const std::vector<const SettingResult*>& results) {
  std::vector<CurveRow> rows;
  std::set<model::Placement> placements;
  for (const SettingResult* result : results)
    if (cell_bytes(result->label) && result->data != DataState::wrong) {
      placements.insert(result->label.placement);
      rows.push_back({result, result->setting});
    }
  if (placements.size() > 1)
    for (CurveRow& row : rows)
      row.line += ", " + placement_text(row.result->label.placement);
  std::ranges::stable_sort(rows, {}, [](const CurveRow& row) {
    return std::tuple(!row.result->is_default, std::string_view(row.line));
  });
  return rows;
}

TableOf<CurveRow> curve_table(std::vector<CurveRow> rows) {
  TableOf<CurveRow> table(std::move(rows));
  table.add(k_size, [](const CurveRow& row) { return row.result->label.bytes; })
      .titled("size", {Unit::size});
  table.add("setting", &CurveRow::line).titled("setting");
  return table;
}

// A time of one process as the figure of a chart.
using Figure = std::function<double(const SettingResult& result, double time_ns)>;

Chart curve_chart(std::string title, TableOf<CurveRow> table, const char* key, const char* name,
                  const std::function<double(const SettingResult&)>& middle_ns,
                  const std::function<double(const ProcessTime&)>& process_ns,
                  const Figure& figure) {
  using Row = const CurveRow&;
  auto value = [=](Row row) { return six_digits(figure(*row.result, middle_ns(*row.result))); };
  table.add(key, value).titled(name, {Unit::number});
  table
      .add("interval",
           [=](Row row) -> Value {
             const auto& interval_ns = row.result->interval_ns;
             if (!interval_ns || row.result->latency) // the interval is that of the mean time
               return nullptr;
             const double ends[] = {figure(*row.result, interval_ns->low),
                                    figure(*row.result, interval_ns->high)};
             return List{six_digits(std::min(ends[0], ends[1])),
                         six_digits(std::max(ends[0], ends[1]))};
           })
      .titled("interval of the median", {Unit::number})
      .interval();
  table
      .add("processes",
           [=](Row row) {
             List values;
             for (const ProcessTime& process : row.result->processes)
               values.emplace_back(six_digits(figure(*row.result, process_ns(process))));
             return values;
           })
      .titled("each process", {Unit::number})
      .nested();
  return {.kind = ChartKind::curve,
          .title = std::move(title),
          .table = table.table(),
          .x = k_size,
          .y = key,
          .series = "setting",
          .interval = "interval",
          .points = "processes"};
}

// `y`: what the rows are named by.
Chart forest_chart(std::string title, std::vector<StepComparison> comparisons,
                   const Verdicts& verdicts, const char* y) {
  using Row = const StepComparison&;
  TableOf<StepComparison> table(std::move(comparisons));
  table.add("setting", [](Row row) { return row.second->setting->setting; }).titled("setting");
  if (std::string_view(y) == k_step_name)
    table.add(y, &StepComparison::first).titled("step");
  table.add(k_size, [](Row row) { return row.second->setting->label.bytes; })
      .titled("size", {Unit::size});
  table.add("speed_ratio", [](Row row) { return six_digits(row.second->speed_ratio); })
      .titled("speed against the default", {Unit::ratio, 3});
  table.add("interval", [](Row row) { return interval_value(row.second->interval); })
      .titled("interval", {Unit::fixed, 3})
      .interval();
  table
      .add("noise",
           [&verdicts](Row row) -> Value {
             const auto& floor = verdicts.floor_of(*row.second);
             return floor ? Value(List{six_digits(1 / floor->ratio), six_digits(floor->ratio)})
                          : Value();
           })
      .titled("A/A noise floor", {Unit::fixed, 3})
      .interval();
  table.add("adjusted_p", [](Row row) { return six_digits(row.second->adjusted_p); })
      .titled("adjusted p", {Unit::chance});
  table.add("verdict", [](Row row) { return row.second->verdict; }).titled("verdict");
  return {.kind = ChartKind::forest,
          .title = std::move(title),
          .table = table.table(),
          .x = "speed_ratio",
          .y = y,
          .series = "setting",
          .interval = "interval",
          .state = "verdict",
          .band = "noise",
          .lines = {{"default", 1}}};
}

} // namespace

std::vector<Chart> result_charts(const std::vector<const SettingResult*>& results,
                                 std::vector<ReferenceLine> lines) {
  const std::vector<CurveRow> rows = curve_rows(results);
  std::set<std::uint64_t> sizes;
  for (const CurveRow& row : rows)
    sizes.insert(row.result->label.bytes);
  if (sizes.size() < 2)
    return {};
  const std::string what = describe(*rows.front().result);
  auto process_ns = [](const ProcessTime& process) { return process.time.over_batches_ns.median; };
  auto in_microseconds = [](const SettingResult&, double time_ns) { return time_ns / 1e3; };
  if (rows.front().result->latency)
    return {curve_chart(
        "Latency over size: " + what, curve_table(rows), "p50_us", "p50 us",
        [](const SettingResult& result) { return result.latency->p50_ns; },
        [](const ProcessTime& process) { return latency_of(process.time).p50_ns; },
        in_microseconds)};
  auto time_ns = [](const SettingResult& result) { return result.time_ns; };
  std::vector<Chart> charts;
  if (std::ranges::all_of(
          rows, [](const CurveRow& row) { return row.result->busbw_gb_per_s.has_value(); })) {
    charts.push_back(curve_chart("Bus bandwidth over size: " + what, curve_table(rows),
                                 "busbw_gb_per_s", "busbw GB/s", time_ns, process_ns,
                                 [](const SettingResult& result, double of_ns) {
                                   return *result.busbw_gb_per_s * result.time_ns / of_ns;
                                 }));
    charts.back().lines = std::move(lines);
  }
  charts.push_back(curve_chart("Time over size: " + what, curve_table(rows), "time_us", "time us",
                               time_ns, process_ns, in_microseconds));
  return charts;
}

Chart comparison_chart(std::string title, const std::vector<const Comparison*>& comparisons,
                       const Verdicts& verdicts) {
  std::vector<StepComparison> rows;
  for (const Comparison* one : comparisons)
    rows.emplace_back("", one);
  return forest_chart(std::move(title), std::move(rows), verdicts, k_size);
}

Chart step_comparison_chart(std::string title, std::vector<StepComparison> comparisons,
                            const Verdicts& verdicts) {
  return forest_chart(std::move(title), std::move(comparisons), verdicts, k_step_name);
}

} // namespace ncclprobe::analysis
