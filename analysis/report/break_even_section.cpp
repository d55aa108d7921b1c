// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/break_even_section.h"

#include "analysis/report/label_words.h"
#include "analysis/report/step_tables.h"
#include "analysis/report/step_text.h"

#include <cmath>

namespace ncclprobe::analysis {
namespace {

using steps::BreakEven;

double half_width(const Interval& interval) {
  return (interval.high - interval.low) / 2;
}

// To a nanosecond: equal values leave an interval of rounding errors.
Value half_ms(const std::optional<Interval>& interval_ns) {
  return interval_ns ? Value(std::round(half_width(*interval_ns)) / 1e6) : Value();
}

} // namespace

TablePtr break_even_table(const std::vector<BreakEven>& all, bool synthetic) {
  using Row = const BreakEven&;
  TableOf<BreakEven> table(all);
  add_step(
      table, synthetic, [](Row one) -> auto& { return *one.result; });
  table.show("ranks", [](Row one) { return rank_count(*one.result); });
  table.add("also_possible", &BreakEven::also_possible);
  table.add("computing_ms", [](Row one) { return six_digits_ms(one.computing_ns); })
      .titled("computes ms", {Unit::milliseconds});
  table.add("computing_interval_ms",
            [](Row one) { return interval_value(one.computing_interval_ns, 1e6); });
  table.add("transfer_ms", [](Row one) { return six_digits_ms(one.transfer_ns); });
  table.add("uncovered_transfer_ms", [](Row one) { return six_digits_ms(one.exposed_ns); });
  table.show("uncovered %", [](Row one) { return one.exposed_ns / one.result->times.step_ns; },
             {Unit::share});
  table.add("uncovered_transfer_share_interval",
            [](Row one) { return interval_value(one.exposed_share_interval); });
  table.show("+-",
             [](Row one) {
               return one.exposed_share_interval ? Value(half_width(*one.exposed_share_interval))
                                                 : Value();
             },
             {Unit::share});
  table.add("break_even_at_best_ms", [](Row one) { return six_digits_ms(one.transfer_ns); })
      .titled("at best ms", {Unit::milliseconds});
  table.add("break_even_interval_ms",
            [](Row one) { return interval_value(one.transfer_interval_ns, 1e6); });
  table.show("+-", [](Row one) { return half_ms(one.transfer_interval_ns); }, {Unit::milliseconds});
  table
      .add("break_even_as_it_is_ms",
           [](Row one) {
             return one.as_it_is_ns ? Value(six_digits_ms(*one.as_it_is_ns)) : Value();
           })
      .titled("as it is ms", {Unit::milliseconds});
  table.add("break_even_as_it_is_interval_ms",
            [](Row one) { return interval_value(one.as_it_is_interval_ns, 1e6); });
  table.show("+-", [](Row one) { return half_ms(one.as_it_is_interval_ns); }, {Unit::milliseconds});
  table.add("bound_by", &BreakEven::bound_by).titled("verdict").left();
  table.add("in_words", [](Row one) { return steps::in_words(one); });
  return table.table();
}

Section break_even_section(const std::vector<BreakEven>& all, const TablePtr& table,
                           const steps::StepResult& lead) {
  View view{.table = table, .rows = std::vector<std::size_t>(), .indent = 4};
  std::vector<Block> open;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const BreakEven& one = all[i];
    if (!same_kind(*one.result, lead) || one.result->setting != lead.setting)
      continue;
    view.rows->push_back(i);
    if (one.also_possible && !one.also_possible->empty())
      open.push_back(Text{"",
                          fmt::format("At {}: {}. The intervals allow either verdict; more "
                                      "processes (--repeat) narrow them.",
                                      count_of(rank_count(*one.result), "rank", "ranks"),
                                      verdict_in_words(one)),
                          4});
  }
  if (view.rows->empty())
    return {"break_even"};
  open.insert(open.begin(), std::move(view));
  return {
      "break_even",
      fmt::format("Break-even: computing time per step that would hide all transfers. at best: "
                  "if computing could cover all of them. as it is: if each ms of computing covers "
                  "as much as now. +-: half of the {:.0f}% interval, with three processes or more",
                  100 * k_confidence),
      std::move(open), 2};
}

} // namespace ncclprobe::analysis
