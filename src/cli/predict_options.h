// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/prediction_report.h"

#include <filesystem>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

namespace ncclprobe::cli {

struct PredictOptions {
  std::filesystem::path run_file;
  analysis::PredictionRequest request;
  bool json = false;
  std::filesystem::path output; // empty = standard output
};

// Options, or the exit code to leave with at once, as parse_report_arguments. `arguments` without
// "predict".
std::variant<PredictOptions, int> parse_predict_arguments(const std::vector<std::string>& arguments,
                                                          std::ostream& out, std::ostream& err);

// "50GB/s,5us", "400Gbit/s,5us". Errors: invalid_argument.
base::Result<analysis::cost_model::InterNode> parse_inter_node(const std::string& text);

} // namespace ncclprobe::cli
