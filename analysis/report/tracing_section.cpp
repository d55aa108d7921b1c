// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/tracing_section.h"

#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

double percent(double ratio) {
  return (ratio - 1) * 100;
}

} // namespace

std::string cost_text(const TracingCost& cost) {
  std::string text = fmt::format("{:+.1f}%", percent(cost.ratio));
  if (cost.test)
    text += fmt::format(" [{:.1f}, {:.1f}]", percent(cost.test->interval.low),
                        percent(cost.test->interval.high));
  else if (cost.too_few_processes)
    text += " (too few processes)";
  return text;
}

Report tracing_cost_report(const RunSummary& run) {
  std::vector<TracingCost> costs = tracing_costs(run);
  if (costs.empty())
    return {};
  const bool any_interval =
      std::ranges::any_of(costs, [](const TracingCost& cost) { return cost.test.has_value(); });
  TableOf<TracingCost> table(std::move(costs));
  using Row = const TracingCost&;
  table.add("setting", [](Row one) { return one.traced.setting; })
      .titled("setting")
      .left(28)
      .once();
  add_label(
      table, [](Row one) -> auto& { return one.traced.label; });
  table.show("workload", [](Row one) { return describe(one.traced); }).left(28);
  table.show("size", [](Row one) { return one.traced.label.bytes; }, {Unit::size});
  table.add("traced_us", [](Row one) { return one.traced.time_ns / 1e3; })
      .titled("traced us", {Unit::number});
  table.add("traced_processes", [](Row one) { return one.traced.processes.size(); });
  table.add("untraced_processes", &TracingCost::untraced_processes);
  table.show("processes", [](Row one) {
    return fmt::format("{} + {}", one.traced.processes.size(), one.untraced_processes);
  });
  table.add("time_ratio", [](Row one) { return six_digits(one.ratio); });
  table.add("interval",
            [](Row one) { return one.test ? interval_value(one.test->interval) : Value(); });
  table.add("too_few_processes", &TracingCost::too_few_processes);
  table.show("tracing cost [95%]", cost_text).left();
  Section section{
      "tracing_cost",
      "What tracing cost (traced processes compared with untraced ones of the same blocks)",
      {View{table.table()}}};
  if (!any_interval)
    section.blocks.push_back(
        Text{"", "Too few processes for an interval: use --repeat 5 or more.", 2});
  return {.sections = {std::move(section)}, .data = {{"tracing_cost", table.table()}}};
}

} // namespace ncclprobe::analysis
