// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/price_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/suitability/prices.h"
#include "base/text_table.h"
#include "base/units.h"
#include "base/wrapped_row.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Json = nlohmann::ordered_json;

// Four digits or more, never as a power of ten.
std::string money(double value) {
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

// What both forms say, made once: results of steps must outlive what points into them.
struct Costs {
  std::vector<steps::StepResult> steps;
  std::vector<steps::Scaling> scalings;
  std::vector<BandwidthCost> bandwidths;
  std::vector<GpuCost> gpus;

  Costs(const RunSummary& run, const std::vector<SettingResult>& results, double per_gpu)
      : steps(steps::step_results(run, results)), scalings(steps::scalings(steps)),
        bandwidths(bandwidth_costs(results, per_gpu)), gpus(gpu_costs(scalings, per_gpu)) {}
};

} // namespace

std::string render_prices(const RunSummary& run, const std::vector<SettingResult>& results,
                          double per_gpu) {
  const Costs costs(run, results, per_gpu);
  std::string out = paragraph(
      "", fmt::format("Price{}: {} a GPU, as given", synthetic_mark(run), money(per_gpu)), 0);
  if (!costs.bandwidths.empty()) {
    TextTable table({{"collective", TextTable::Align::left},
                     {"ranks"},
                     {"setting", TextTable::Align::left},
                     {"best GB/s"},
                     {"at"},
                     {"price per GB/s"}});
    for (const BandwidthCost& one : costs.bandwidths)
      base::add_wrapped_row(table,
                            {cell_name(*one.best), std::to_string(one.best->ranks),
                             one.best->setting, format_number(one.best->busbw_gb_per_s),
                             base::format_bytes(one.best->label.bytes), money(one.per_gb_per_s)},
                            {28, 0, 26});
    out += table.render(2);
  }
  if (!costs.gpus.empty()) {
    TextTable table({{"step", TextTable::Align::left},
                     {"ranks"},
                     {"efficiency %"},
                     {"effective GPUs"},
                     {"price of each"}});
    for (const GpuCost& one : costs.gpus)
      base::add_wrapped_row(table,
                            {describe_step(*one.point->result), std::to_string(one.point->ranks),
                             fmt::format("{:.1f}", 100 * one.point->efficiency.value),
                             fmt::format("{:.2f}", one.effective_gpus),
                             money(one.per_effective_gpu)},
                            {46});
    out += table.render(2);
    out += paragraph(
        "", "effective GPUs: ranks times efficiency, against the fewest ranks measured.", 2);
  }
  if (costs.bandwidths.empty() && costs.gpus.empty())
    out += "  Nothing was measured to which a price applies: a collective at three sizes, or "
           "scaling.\n";
  return out;
}

Json prices_json(const RunSummary& run, const std::vector<SettingResult>& results, double per_gpu) {
  const Costs costs(run, results, per_gpu);
  Json out{{"per_gpu", per_gpu}, {"bandwidth", Json::array()}, {"scaling", Json::array()}};
  for (const BandwidthCost& one : costs.bandwidths)
    out["bandwidth"].push_back({{"workload", one.best->label.workload},
                                {"type", model::to_string(one.best->label.type)},
                                {"op", model::to_string(one.best->label.op)},
                                {"variant", one.best->label.variant},
                                {"placement", model::to_string(one.best->label.placement)},
                                {"ranks", one.best->ranks},
                                {"setting", one.best->setting},
                                {"size_bytes", one.best->label.bytes},
                                {"busbw_gb_per_s", *one.best->busbw_gb_per_s},
                                {"price_per_gb_per_s", one.per_gb_per_s}});
  for (const GpuCost& one : costs.gpus)
    out["scaling"].push_back({{"step", describe_step(*one.point->result)},
                              {"ranks", one.point->ranks},
                              {"efficiency", one.point->efficiency.value},
                              {"effective_gpus", one.effective_gpus},
                              {"price_per_effective_gpu", one.per_effective_gpu}});
  return out;
}

} // namespace ncclprobe::analysis
