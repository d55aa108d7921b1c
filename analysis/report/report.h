// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>

namespace ncclprobe::analysis {

enum class Format { table, json, csv };
constexpr auto enum_names(Format) {
  return std::to_array<std::pair<Format, std::string_view>>(
      {{Format::table, "table"}, {Format::json, "json"}, {Format::csv, "csv"}});
}

// The whole report of a run, ready to print. Pure: same run, same text.
std::string render_report(const model::Run& run, Format format);

} // namespace ncclprobe::analysis
