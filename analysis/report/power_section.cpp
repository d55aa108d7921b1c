// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/power_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/power.h"
#include "base/text_table.h"
#include "base/wrapped_row.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Json = nlohmann::ordered_json;

const std::vector<int> k_power_widths{26, 0, 20};

std::string cell_text(const SettingResult& result) {
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

} // namespace

std::string render_power(const RunSummary& run, const std::vector<SettingResult>& results) {
  const std::vector<PowerFigure> all = power_figures(run, results);
  if (all.empty())
    return "";
  TextTable table({{"cell", TextTable::Align::left},
                   {"ranks"},
                   {"setting", TextTable::Align::left},
                   {"W a GPU"},
                   {"W in all"},
                   {"busbw GB/s"},
                   {"GB/s per W"}});
  std::size_t rows = 0;
  for (const PowerFigure& one : all) {
    if (++rows > base::k_rows_shown)
      break;
    double total_w = 0;
    for (const auto& [rank, watts] : one.rank_w)
      total_w += watts;
    base::add_wrapped_row(table,
                          {cell_text(*one.result),
                           std::to_string(rank_count(one.result->label, one.result->ranks)),
                           one.result->setting, watts_text(one), fmt::format("{:.0f}", total_w),
                           format_number(one.result->busbw_gb_per_s),
                           one.busbw_per_w ? fmt::format("{:.3f}", *one.busbw_per_w) : "-"},
                          k_power_widths);
  }
  std::string out = paragraph(
      "",
      fmt::format(
          "Power while it ran{}, by NVML; GB/s per W is busbw by the mean watts of a GPU. "
          "Of cells that ran for a second or more: a reading is a mean over up to that long",
          synthetic_mark(run)),
      0);
  return out + table.render(2) + base::rows_left_out(all.size());
}

Json power_json(const RunSummary& run, const std::vector<SettingResult>& results) {
  Json out = Json::array();
  for (const PowerFigure& one : power_figures(run, results)) {
    Json watts = Json::array();
    for (const auto& [rank, value] : one.rank_w)
      watts.push_back({{"rank", rank}, {"power_w", value}});
    const model::CellLabel& label = one.result->label;
    out.push_back(
        {{"workload", label.workload},
         {"size_bytes", label.bytes},
         {"type", model::to_string(label.type)},
         {"op", model::to_string(label.op)},
         {"root", label.root},
         {"variant", label.variant},
         {"placement", model::to_string(label.placement)},
         {"timing_mode", model::to_string(one.result->timing_mode)},
         {"ranks", one.result->ranks},
         {"setting", one.result->setting},
         {"gpu_power_w", one.gpu_w},
         {"gpus", std::move(watts)},
         {"processes", one.processes},
         {"busbw_gb_per_s",
          one.result->busbw_gb_per_s ? Json(*one.result->busbw_gb_per_s) : Json(nullptr)},
         {"busbw_gb_per_s_per_w", one.busbw_per_w ? Json(*one.busbw_per_w) : Json(nullptr)}});
  }
  return out;
}

} // namespace ncclprobe::analysis
