// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/nccl_section.h"

#include "analysis/proof/nccl_prediction.h"
#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"

namespace ncclprobe::analysis {
namespace {

std::string way_of(const Use& use) {
  return use.protocol.empty() ? use.algorithm : use.algorithm + " " + use.protocol;
}

double measured_us(const NcclPrediction& one) {
  return one.result->time_ns / 1e3;
}

Value faster_value(const NcclPrediction& one) {
  return one.faster ? Value(Object{{"setting", one.faster->setting},
                                   {"ratio", one.faster_ratio},
                                   {"algorithm", one.faster_use.algorithm},
                                   {"protocol", one.faster_use.protocol}})
                    : Value();
}

Value faster_text(const NcclPrediction& one) {
  return one.faster ? Value(fmt::format("{} by {} ({})", ratio_text(one.faster_ratio),
                                        way_of(one.faster_use), one.faster->setting))
                    : Value();
}

} // namespace

Report nccl_prediction_report(const model::Run& run, const std::vector<SettingResult>& results,
                              const Verdicts& verdicts) {
  TableOf<NcclPrediction> table(nccl_predictions(run, results, verdicts));
  if (table.rows().empty())
    return {};
  using Row = const NcclPrediction&;
  bool loses = false, partial = false, told = false, calculated = false;
  for (Row one : table.rows()) {
    loses = loses || one.faster;
    partial = partial || !one.expected.is_whole;
    told = told || one.is_told;
    calculated = calculated || !one.is_told;
  }
  auto ratio = [](Row one) { return measured_us(one) / one.expected.time_us; };
  table.add("operation", [](Row one) { return cell_name(*one.result); }).titled("operation").left();
  table.add("ranks", [](Row one) { return one.result->ranks; }).titled("ranks");
  table.add("bytes", [](Row one) { return one.result->label.bytes; }).titled("size", {Unit::size});
  table.add("algorithm", [](Row one) { return one.use.algorithm; });
  table.add("protocol", [](Row one) { return one.use.protocol; });
  table.show("by", [](Row one) { return way_of(one.use); }).left();
  table.add("measured_us", measured_us).titled("measured us", {Unit::number});
  table.add("predicted_us", [](Row one) { return one.expected.time_us; });
  table.show("predicted us", [](Row one) {
    return format_number(one.expected.time_us) + (one.expected.is_whole ? "" : "*");
  });
  table.add("prediction_is_whole", [](Row one) { return one.expected.is_whole; });
  table.add("predicted_by",
            [](Row one) { return one.is_told ? "ncclGroupSimulateEnd" : "table in its log"; });
  table.add("measured_to_predicted", ratio).titled("ratio", {Unit::fixed, 2});
  table.add("faster", faster_value);
  table.show("faster", faster_text).left().if_any();
  return {.sections = {{"nccl_predictions",
                        "NCCL's own predictions (ratio: measured / predicted)",
                        {View{table.table()},
                         Text{"",
                              fmt::format(
                                  "Predicted: {}{}{}.{}{}",
                                  told ? "by NCCL itself (ncclGroupSimulateEnd)" : "",
                                  told && calculated ? "; or " : "",
                                  calculated ? "latency + bytes / bandwidth from NCCL's log, for "
                                               "the algorithm and protocol that it used"
                                             : "",
                                  partial ? " *: without corrections for trees, and for rings over "
                                            "nodes, which NCCL does not log."
                                          : "",
                                  loses ? " Faster: a better setting with another algorithm or "
                                          "protocol than NCCL's choice."
                                        : ""),
                              2}}}},
          .data = {{"nccl_predictions", table.table()}}};
}

} // namespace ncclprobe::analysis
