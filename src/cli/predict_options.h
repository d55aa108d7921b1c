// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/prediction_report.h"
#include "base/output_file.h"

#include <filesystem>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

namespace ncclprobe::cli {

struct PredictOptions {
  std::filesystem::path run_file;
  std::vector<std::filesystem::path> also; // further runs
  analysis::PredictionRequest request;
  bool json = false;
  base::Destination output; // without a file: standard output
};

// Options, or the exit code to leave with at once, as parse_report_arguments. `arguments` without
// "predict".
std::variant<PredictOptions, int> parse_predict_arguments(const std::vector<std::string>& arguments,
                                                          std::ostream& out, std::ostream& err);

// "50GB/s,5us", "400Gbit/s,5us", "40-50GB/s,4-6us". Errors: invalid_argument.
base::Result<analysis::cost_model::InterNodeRange> parse_inter_node(const std::string& text);

// "400", "400Tflop/s", "0.35-0.4Pflop/s" -> operations a second; a number alone means Tflop/s.
// Errors: invalid_argument.
base::Result<analysis::cost_model::Stated> parse_flops(const std::string& text);

} // namespace ncclprobe::cli
