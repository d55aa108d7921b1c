// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/saturation_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/verdict/saturation.h"

namespace ncclprobe::analysis {
namespace {

std::string from_size_text(const Saturation& one) {
  const std::string largest = size_text(one.largest->label.bytes);
  switch (one.state) {
  case Saturated::reached:
    return size_text(one.from->label.bytes);
  case Saturated::smallest:
    return size_text(one.from->label.bytes) + " or less";
  case Saturated::rising:
    return fmt::format("not reached by {}", largest);
  case Saturated::falling:
    break;
  }
  return fmt::format("falls to {:.0f}% at {}",
                     100 * *one.largest->busbw_gb_per_s / *one.best->busbw_gb_per_s, largest);
}

} // namespace

Report saturation_report(const model::Run& run, const std::vector<SettingResult>& results) {
  TableOf<Saturation> table(saturations(results));
  if (table.rows().empty())
    return {};
  using Row = const Saturation&;
  add_operation(
      table, [](Row one) -> auto& { return one.best->label; });
  table.show("collective", [](Row one) { return cell_name(*one.best); }).left(28);
  table.add("ranks", [](Row one) { return one.best->ranks; }).titled("ranks");
  table.add("setting", [](Row one) { return one.best->setting; }).titled("setting").left(22);
  table.add("share_of_best", [](Row) { return k_saturated_share; });
  table.add("state", &Saturation::state);
  table.show("from size", from_size_text).left();
  table.add("from_bytes",
            [](Row one) { return one.from ? Value(one.from->label.bytes) : Value(); });
  table.add("from_busbw_gb_per_s",
            [](Row one) { return one.from ? Value(one.from->busbw_gb_per_s) : Value(); });
  table.add("best_busbw_gb_per_s", [](Row one) { return one.best->busbw_gb_per_s; })
      .titled("best GB/s", {Unit::number});
  table.add("best_bytes", [](Row one) { return one.best->label.bytes; }).titled("at", {Unit::size});
  table.add("largest_bytes", [](Row one) { return one.largest->label.bytes; });
  table.add("sizes", &Saturation::sizes);
  return {.sections = {{"saturation",
                        fmt::format("Where bandwidth saturates: the smallest size from which "
                                    "busbw stays at {:.0f}% or more of the best{}",
                                    100 * k_saturated_share, synthetic_mark(run)),
                        {View{.table = table.table(), .most_rows = k_rows_shown}}}},
          .data = {{"saturation", table.table()}}};
}

} // namespace ncclprobe::analysis
