// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/price_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/suitability/prices.h"

namespace ncclprobe::analysis {
namespace {

TablePtr bandwidth_table(std::vector<BandwidthCost> costs) {
  TableOf<BandwidthCost> table(std::move(costs));
  using Row = const BandwidthCost&;
  add_label(
      table, [](Row one) -> auto& { return one.best->label; });
  table.show("collective", [](Row one) { return cell_name(*one.best); }).left(28);
  table.add("ranks", [](Row one) { return one.best->ranks; }).titled("ranks");
  table.add("setting", [](Row one) { return one.best->setting; }).titled("setting").left(26);
  table.add("busbw_gb_per_s", [](Row one) { return one.best->busbw_gb_per_s; })
      .titled("best GB/s", {Unit::number});
  table.show("at", [](Row one) { return one.best->label.bytes; }, {Unit::size});
  table.add("price_per_gb_per_s", &BandwidthCost::per_gb_per_s);
  table.show("price per GB/s", [](Row one) { return money_text(one.per_gb_per_s); });
  return table.table();
}

TablePtr scaling_table(std::vector<GpuCost> costs) {
  TableOf<GpuCost> table(std::move(costs));
  using Row = const GpuCost&;
  table.add("step", [](Row one) { return describe_step(*one.point->result); })
      .titled("step")
      .left(46);
  table.add("ranks", [](Row one) { return one.point->ranks; }).titled("ranks");
  table.add("efficiency", [](Row one) { return one.point->efficiency.value; })
      .titled("efficiency %", {Unit::share});
  table.add("effective_gpus", &GpuCost::effective_gpus).titled("effective GPUs", {Unit::fixed, 2});
  table.add("price_per_effective_gpu", &GpuCost::per_effective_gpu);
  table.show("price of each", [](Row one) { return money_text(one.per_effective_gpu); });
  return table.table();
}

} // namespace

Report price_report(const RunSummary& run, const std::vector<SettingResult>& results,
                    const std::vector<steps::Scaling>& scalings, double per_gpu) {
  const TablePtr bandwidths = bandwidth_table(bandwidth_costs(results, per_gpu));
  const TablePtr gpus = scaling_table(gpu_costs(scalings, per_gpu));
  Section section{"price", fmt::format("Price{}: {} per GPU, as given", synthetic_mark(run),
                                       money_text(per_gpu))};
  if (bandwidths->rows > 0)
    section.blocks.push_back(View{bandwidths});
  if (gpus->rows > 0) {
    section.blocks.push_back(View{gpus});
    section.blocks.push_back(Text{
        "", "effective GPUs: ranks times efficiency, relative to the fewest ranks measured.", 2});
  }
  if (section.blocks.empty())
    section.blocks.push_back(Text{"",
                                  "No price applies to this run: that needs a collective at three "
                                  "sizes, or scaling.",
                                  2});
  return {.sections = {std::move(section)},
          .data = {{"price",
                    Object{{"per_gpu", per_gpu}, {"bandwidth", bandwidths}, {"scaling", gpus}}}}};
}

} // namespace ncclprobe::analysis
