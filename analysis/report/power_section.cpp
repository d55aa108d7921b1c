// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/power_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/results/power.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

std::string cell_text(const PowerFigure& one) {
  const SettingResult& result = *one.result;
  const std::string size = cell_size(result.label);
  return size == k_no_size ? cell_name(result) : fmt::format("{}, {}", cell_name(result), size);
}

std::string watts_text(const PowerFigure& figure) {
  auto [low, high] =
      std::minmax_element(figure.rank_w.begin(), figure.rank_w.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text = fmt::format("{:.0f}", low->second);
  std::string most = fmt::format("{:.0f}", high->second);
  return text == most ? text : text + "-" + most;
}

List gpus(const PowerFigure& one) {
  List all;
  for (const auto& [rank, watts] : one.rank_w)
    all.emplace_back(Object{{"rank", rank}, {"power_w", watts}});
  return all;
}

double total_w(const PowerFigure& one) {
  double sum = 0;
  for (const auto& [rank, watts] : one.rank_w)
    sum += watts;
  return sum;
}

// Of all GPUs, for one operation or step.
double energy_j(const PowerFigure& one) {
  return total_w(one) * one.result->time_ns / 1e9;
}

} // namespace

Report power_report(const RunSummary& run, const std::vector<SettingResult>& results) {
  TableOf<PowerFigure> table(power_figures(run, results));
  if (table.rows().empty())
    return {};
  using Row = const PowerFigure&;
  add_label(
      table, [](Row one) -> auto& { return one.result->label; });
  table.add("timing_mode", [](Row one) { return one.result->timing_mode; });
  table.show("cell", cell_text).left(26);
  table.show("ranks", [](Row one) { return rank_count(one.result->label, one.result->ranks); });
  table.add("ranks", [](Row one) { return one.result->ranks; });
  table.add("setting", [](Row one) { return one.result->setting; }).titled("setting").left(20);
  table.add("gpu_power_w", &PowerFigure::gpu_w);
  table.show("W a GPU", watts_text);
  table.show("total W", total_w, {Unit::fixed, 0});
  table.add("power_from", &PowerFigure::source);
  table
      .show_left("W by",
                 [](Row one) {
                   return one.source == PowerSource::energy_counter ? "counter" : "readings";
                 })
      .dispensable(1);
  table.add("energy_j", energy_j).titled("J", {Unit::number});
  table.add("gpus", gpus);
  table.add("processes", &PowerFigure::processes);
  table.add("busbw_gb_per_s", [](Row one) { return one.result->busbw_gb_per_s; })
      .titled("busbw GB/s", {Unit::number});
  table.add("busbw_gb_per_s_per_w", &PowerFigure::busbw_per_w)
      .titled("GB/s per W", {Unit::fixed, 3});
  return {
      .sections = {{"power",
                    fmt::format("Power while cells ran{}: by NVML's counter of energy, else the "
                                "mean of its readings of power. Only cells of a second or more. "
                                "J: of all GPUs together, for one operation or step. GB/s per W: "
                                "busbw divided by the mean watts of a GPU",
                                synthetic_mark(run)),
                    {View{.table = table.table(), .most_rows = k_rows_shown}}}},
      .data = {{"power", table.table()}}};
}

} // namespace ncclprobe::analysis
