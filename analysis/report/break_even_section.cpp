// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/break_even_section.h"

#include "analysis/report/rounded.h"
#include "analysis/report/step_text.h"
#include "analysis/report/text_layout.h"
#include "base/text_table.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Json = nlohmann::ordered_json;

} // namespace

std::string render_break_even(const std::vector<steps::StepResult>& results) {
  TextTable table({{"ranks"},
                   {"computes ms"},
                   {"uncovered %"},
                   {"at best ms"},
                   {"as it is ms"},
                   {"verdict", TextTable::Align::left}});
  const std::vector<steps::BreakEven> all = steps::break_evens(results);
  if (all.empty())
    return "";
  for (const steps::BreakEven& one : all)
    table.add_row({ranks_text(*one.result), ms_text(one.computing_ns),
                   percent_text(one.exposed_ns / one.result->times.step_ns),
                   ms_text(one.transfer_ns), one.as_it_is_ns ? ms_text(*one.as_it_is_ns) : "-",
                   std::string(base::to_string(one.bound_by))});
  return paragraph("",
                   "Break-even: computing a step that can hide all transfers (at best: as long as "
                   "they take), or would with as much of them covered a ms as now (as it is)",
                   2) +
         table.render(4);
}

Json break_even_json(const steps::BreakEven& one) {
  return {
      {"bound_by", base::to_string(one.bound_by)},
      {"computing_ms", rounded_ms(one.computing_ns)},
      {"transfer_ms", rounded_ms(one.transfer_ns)},
      {"uncovered_transfer_ms", rounded_ms(one.exposed_ns)},
      {"break_even_at_best_ms", rounded_ms(one.transfer_ns)},
      {"break_even_interval_ms", one.transfer_interval_ns
                                     ? Json{rounded_ms(one.transfer_interval_ns->low),
                                            rounded_ms(one.transfer_interval_ns->high)}
                                     : Json(nullptr)},
      {"break_even_as_it_is_ms", one.as_it_is_ns ? rounded_ms(*one.as_it_is_ns) : Json(nullptr)},
      {"in_words", steps::in_words(one)}};
}

} // namespace ncclprobe::analysis
