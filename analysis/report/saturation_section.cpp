// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/saturation_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/verdict/saturation.h"
#include "base/text_table.h"
#include "base/units.h"
#include "base/wrapped_row.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Json = nlohmann::ordered_json;

const std::vector<int> k_saturation_widths{28, 0, 22};

std::string size_text(const Saturation& one) {
  const std::string largest = base::format_bytes(one.largest->label.bytes);
  switch (one.state) {
  case Saturated::reached:
    return base::format_bytes(one.from->label.bytes);
  case Saturated::smallest:
    return base::format_bytes(one.from->label.bytes) + " or less";
  case Saturated::rising:
    return fmt::format("not reached by {}", largest);
  case Saturated::falling:
    break;
  }
  return fmt::format("falls to {:.0f}% at {}",
                     100 * *one.largest->busbw_gb_per_s / *one.best->busbw_gb_per_s, largest);
}

} // namespace

std::string render_saturation(const model::Run& run, const std::vector<SettingResult>& results) {
  const std::vector<Saturation> all = saturations(results);
  if (all.empty())
    return "";
  TextTable table({{"collective", TextTable::Align::left},
                   {"ranks"},
                   {"setting", TextTable::Align::left},
                   {"from size", TextTable::Align::left},
                   {"best GB/s"},
                   {"at"}});
  std::size_t rows = 0;
  for (const Saturation& one : all) {
    if (++rows > base::k_rows_shown)
      break;
    base::add_wrapped_row(table,
                          {cell_name(*one.best), std::to_string(one.best->ranks), one.best->setting,
                           size_text(one), format_number(one.best->busbw_gb_per_s),
                           base::format_bytes(one.best->label.bytes)},
                          k_saturation_widths);
  }
  std::string out = paragraph(
      "",
      fmt::format("Where bandwidth saturates: the smallest measured size from which busbw stays at "
                  "{:.0f}% of the best or above{}",
                  100 * k_saturated_share, synthetic_mark(run)),
      0);
  return out + table.render(2) + base::rows_left_out(all.size());
}

Json saturation_json(const std::vector<SettingResult>& results) {
  Json out = Json::array();
  for (const Saturation& one : saturations(results)) {
    const model::CellLabel& label = one.best->label;
    out.push_back(
        {{"workload", label.workload},
         {"type", model::to_string(label.type)},
         {"op", model::to_string(label.op)},
         {"root", label.root},
         {"variant", label.variant},
         {"placement", model::to_string(label.placement)},
         {"ranks", one.best->ranks},
         {"setting", one.best->setting},
         {"share_of_best", k_saturated_share},
         {"state", base::to_string(one.state)},
         {"from_bytes", one.from ? Json(one.from->label.bytes) : Json(nullptr)},
         {"from_busbw_gb_per_s", one.from ? Json(*one.from->busbw_gb_per_s) : Json(nullptr)},
         {"best_bytes", label.bytes},
         {"best_busbw_gb_per_s", *one.best->busbw_gb_per_s},
         {"largest_bytes", one.largest->label.bytes},
         {"sizes", one.sizes}});
  }
  return out;
}

} // namespace ncclprobe::analysis
