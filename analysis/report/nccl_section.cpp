// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/nccl_section.h"

#include "analysis/proof/nccl_prediction.h"
#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "base/text_table.h"
#include "base/units.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json;
using base::TextTable;

std::string way_of(const Use& use) {
  return use.protocol.empty() ? use.algorithm : use.algorithm + " " + use.protocol;
}

} // namespace

std::string render_nccl_predictions(const model::Run& run,
                                    const std::vector<SettingResult>& results,
                                    const Verdicts& verdicts) {
  const auto predictions = nccl_predictions(run, results, verdicts);
  if (predictions.empty())
    return "";
  bool loses = false, partial = false, told = false, calculated = false;
  for (const NcclPrediction& one : predictions) {
    loses = loses || one.faster;
    partial = partial || !one.expected.is_whole;
    told = told || one.is_told;
    calculated = calculated || !one.is_told;
  }
  std::vector<TextTable::Column> columns{{"operation", TextTable::Align::left},
                                         {"ranks"},
                                         {"size"},
                                         {"by", TextTable::Align::left},
                                         {"measured us"},
                                         {"predicted us"},
                                         {"ratio"}};
  if (loses)
    columns.push_back({"faster", TextTable::Align::left});
  TextTable table(columns);
  for (const NcclPrediction& one : predictions) {
    const double measured_us = one.result->time_ns / 1e3;
    std::vector<std::string> row{cell_name(*one.result),
                                 std::to_string(one.result->ranks),
                                 base::format_bytes(one.result->label.bytes),
                                 way_of(one.use),
                                 format_number(measured_us),
                                 format_number(one.expected.time_us) +
                                     (one.expected.is_whole ? "" : "*"),
                                 fmt::format("{:.2f}", measured_us / one.expected.time_us)};
    if (loses)
      row.push_back(one.faster ? fmt::format("{:.2f}x by {} ({})", one.faster_ratio,
                                             way_of(one.faster_use), printable(one.faster->setting))
                               : "");
    table.add_row(std::move(row));
  }
  std::string out = "NCCL's own predictions (ratio: measured / predicted)\n" + table.render(2);
  out += paragraph("",
                   fmt::format("Predicted: {}{}{}.{}{}",
                               told ? "by NCCL itself (ncclGroupSimulateEnd)" : "",
                               told && calculated ? "; or " : "",
                               calculated ? "latency + bytes / bandwidth of the table that NCCL "
                                            "logs when it starts, for the way it took"
                                          : "",
                               partial ? " *: without corrections of trees and of rings over nodes "
                                         "that it does not log."
                                       : "",
                               loses ? " Faster: where its choice loses, a setting with a verdict "
                                       "that was carried out another way."
                                     : ""),
                   2);
  return out;
}

Json nccl_predictions_json(const model::Run& run, const std::vector<SettingResult>& results,
                           const Verdicts& verdicts) {
  Json all = Json::array();
  for (const NcclPrediction& one : nccl_predictions(run, results, verdicts)) {
    const double measured_us = one.result->time_ns / 1e3;
    all.push_back({{"operation", cell_name(*one.result)},
                   {"ranks", one.result->ranks},
                   {"bytes", one.result->label.bytes},
                   {"algorithm", one.use.algorithm},
                   {"protocol", one.use.protocol},
                   {"measured_us", measured_us},
                   {"predicted_us", one.expected.time_us},
                   {"prediction_is_whole", one.expected.is_whole},
                   {"predicted_by", one.is_told ? "ncclGroupSimulateEnd" : "table in its log"},
                   {"measured_to_predicted", measured_us / one.expected.time_us},
                   {"faster", one.faster ? Json{{"setting", one.faster->setting},
                                                {"ratio", one.faster_ratio},
                                                {"algorithm", one.faster_use.algorithm},
                                                {"protocol", one.faster_use.protocol}}
                                         : Json(nullptr)}});
  }
  return all;
}

} // namespace ncclprobe::analysis
