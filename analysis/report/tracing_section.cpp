// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/tracing_section.h"

#include "analysis/report/label_words.h"
#include "base/text_table.h"
#include "base/units.h"

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

std::string render_tracing_cost(const RunSummary& run) {
  std::vector<TracingCost> costs = tracing_costs(run);
  if (costs.empty())
    return "";
  using Align = base::TextTable::Align;
  base::TextTable table({{"setting, workload", Align::left},
                         {"size"},
                         {"traced us"},
                         {"processes"},
                         {"tracing cost [95%]", Align::left}});
  std::vector<std::string> settings; // in order of appearance
  for (const TracingCost& cost : costs)
    if (std::ranges::find(settings, cost.traced.setting) == settings.end())
      settings.push_back(cost.traced.setting);
  constexpr int k_name_columns = 38;
  for (const std::string& setting : settings) {
    for (const std::string& line : wrap(printable(setting), k_name_columns))
      table.add_row({line});
    for (const TracingCost& cost : costs) {
      const SettingResult& traced = cost.traced;
      if (traced.setting != setting)
        continue;
      auto name = wrap(describe(traced), k_name_columns - 2);
      table.add_row({"  " + name.front(), base::format_bytes(traced.label.bytes),
                     format_number(traced.time_ns / 1000),
                     fmt::format("{} + {}", traced.processes.size(), cost.untraced_processes),
                     cost_text(cost)});
      for (std::size_t i = 1; i < name.size(); ++i)
        table.add_row({"    " + name[i]});
    }
  }
  std::string out =
      "What tracing cost (traced processes against untraced ones of the same blocks)\n";
  out += table.render(2);
  if (std::ranges::none_of(costs, [](const TracingCost& cost) { return cost.test.has_value(); }))
    out += paragraph(
        "", "So few processes give no interval: --repeat 5 or more shows how sure it is.", 2);
  return out;
}

} // namespace ncclprobe::analysis
