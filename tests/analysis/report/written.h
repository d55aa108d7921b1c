// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"

#include <nlohmann/json.hpp>

// A part of a report in the forms that tests look at.
namespace ncclprobe::analysis_test {

inline std::string text_of(const analysis::Report& report) {
  return analysis::write_text(report);
}
inline nlohmann::json json_of(const analysis::Report& report) {
  return nlohmann::json::parse(analysis::write_json(report));
}
// What machines read under `key`; null if it is left out.
inline nlohmann::json json_of(const analysis::Report& report, const std::string& key) {
  return json_of(report).value(key, nlohmann::json());
}

} // namespace ncclprobe::analysis_test
