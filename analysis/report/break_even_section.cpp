// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/break_even_section.h"

#include "analysis/report/json_values.h"
#include "analysis/report/label_words.h"
#include "analysis/report/step_text.h"
#include "base/text_table.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Json = nlohmann::ordered_json;

double half_width(const Interval& interval) {
  return (interval.high - interval.low) / 2;
}

// To a nanosecond: equal values leave an interval of rounding errors.
std::string half_ms_text(const std::optional<Interval>& interval_ns) {
  return interval_ns ? ms_text(std::round(half_width(*interval_ns))) : "-";
}

Json ms_json(const std::optional<Interval>& interval_ns) {
  return interval_ns ? Json{rounded_ms(interval_ns->low), rounded_ms(interval_ns->high)}
                     : Json(nullptr);
}

Json also_possible_json(const steps::BreakEven& one) {
  if (!one.also_possible)
    return nullptr;
  Json out = Json::array();
  for (steps::BoundBy other : *one.also_possible)
    out.push_back(base::to_string(other));
  return out;
}

} // namespace

std::string render_break_even(const std::vector<steps::StepResult>& results) {
  TextTable table({{"ranks"},
                   {"computes ms"},
                   {"uncovered %"},
                   {"+-"},
                   {"at best ms"},
                   {"+-"},
                   {"as it is ms"},
                   {"+-"},
                   {"verdict", TextTable::Align::left}});
  const std::vector<steps::BreakEven> all = steps::break_evens(results);
  if (all.empty())
    return "";
  std::string open;
  for (const steps::BreakEven& one : all) {
    table.add_row(
        {ranks_text(*one.result), ms_text(one.computing_ns),
         percent_text(one.exposed_ns / one.result->times.step_ns),
         one.exposed_share_interval ? percent_text(half_width(*one.exposed_share_interval)) : "-",
         ms_text(one.transfer_ns), half_ms_text(one.transfer_interval_ns),
         one.as_it_is_ns ? ms_text(*one.as_it_is_ns) : "-", half_ms_text(one.as_it_is_interval_ns),
         std::string(base::to_string(one.bound_by))});
    if (one.also_possible && !one.also_possible->empty())
      open += paragraph("",
                        fmt::format("At {}: {}. The intervals allow either; more processes "
                                    "(--repeat) narrow them.",
                                    count_of(one.result->step.ranks.size(), "rank", "ranks"),
                                    verdict_in_words(one)),
                        4);
  }
  return paragraph(
             "",
             fmt::format("Break-even: how long a step must compute to hide all transfers. At best: "
                         "as long as they take. As it is: with as much of them covered per "
                         "ms as now. +-: half of the {:.0f}% interval, with three processes "
                         "or more",
                         100 * k_confidence),
             2) +
         table.render(4) + open;
}

Json break_even_json(const steps::BreakEven& one) {
  return {
      {"bound_by", base::to_string(one.bound_by)},
      {"also_possible", also_possible_json(one)},
      {"computing_ms", rounded_ms(one.computing_ns)},
      {"computing_interval_ms", ms_json(one.computing_interval_ns)},
      {"transfer_ms", rounded_ms(one.transfer_ns)},
      {"uncovered_transfer_ms", rounded_ms(one.exposed_ns)},
      {"uncovered_transfer_share_interval", one.exposed_share_interval
                                                ? Json{rounded(one.exposed_share_interval->low),
                                                       rounded(one.exposed_share_interval->high)}
                                                : Json(nullptr)},
      {"break_even_at_best_ms", rounded_ms(one.transfer_ns)},
      {"break_even_interval_ms", ms_json(one.transfer_interval_ns)},
      {"break_even_as_it_is_ms", one.as_it_is_ns ? rounded_ms(*one.as_it_is_ns) : Json(nullptr)},
      {"break_even_as_it_is_interval_ms", ms_json(one.as_it_is_interval_ns)},
      {"in_words", steps::in_words(one)}};
}

} // namespace ncclprobe::analysis
