// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/report.h"
#include "analysis/report_value/report_writers.h"

#include <nlohmann/json.hpp>

// A part of a report in the forms that tests look at.
namespace ncclprobe::analysis_test {

inline std::string render_report(const analysis::RunSummary& run, analysis::Format format,
                                 std::optional<double> price_per_gpu = {},
                                 const analysis::steps::TracedCells& traced = {},
                                 analysis::Extent extent = analysis::Extent::whole) {
  return written(analysis::run_report(run, price_per_gpu, traced, extent), format);
}

inline std::string text_of(const analysis::Report& report) {
  return analysis::write_text(report);
}
inline std::vector<std::string_view> ids_of(const analysis::Report& report) {
  std::vector<std::string_view> ids;
  for (const analysis::Finding* one : findings(report))
    ids.push_back(one->kind->id);
  return ids;
}
// Of the first finding of this kind; null without one.
inline nlohmann::json values_of(const nlohmann::json& report, std::string_view id) {
  for (const auto& one : report.value("findings", nlohmann::json::array()))
    if (one["id"] == id)
      return one["values"];
  return nullptr;
}
inline nlohmann::json json_of(const analysis::Report& report) {
  return nlohmann::json::parse(written(report, analysis::Format::json));
}
// What machines read under `key`; null if it is left out.
inline nlohmann::json json_of(const analysis::Report& report, const std::string& key) {
  return json_of(report).value(key, nlohmann::json());
}

} // namespace ncclprobe::analysis_test
