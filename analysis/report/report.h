// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/steps/by_kernels.h"

#include <optional>
#include <string>

namespace ncclprobe::analysis {

enum class Format { table, json, csv };
constexpr auto enum_names(Format) {
  return std::to_array<std::pair<Format, std::string_view>>(
      {{Format::table, "table"}, {Format::json, "json"}, {Format::csv, "csv"}});
}

// The whole report of a run, ready to print. Pure: same run, same text. `price_per_gpu` is the
// user's (prices.h); P2P matrices and CSV do without. `traced`: what the run's traces tell of its
// steps; CSV, whose rows are of one trial each, does without.
std::string render_report(const RunSummary& run, Format format,
                          std::optional<double> price_per_gpu = std::nullopt,
                          const steps::TracedCells& traced = {});

} // namespace ncclprobe::analysis
