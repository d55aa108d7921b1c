// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/prediction.h"
#include "analysis/report_value/report_writers.h"
#include "launch/cli/common/usage.h"
#include "launch/cli/common/workload_options.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct PredictOptions {
  std::filesystem::path run_file;
  std::vector<std::filesystem::path> also; // further runs
  analysis::PredictionRequest request;     // complete after the usage's check
  WorkloadOptions step;
  std::optional<analysis::cost_model::Stated> forward_ns, backward_ns, optimizer_ns;
  std::optional<analysis::Format> format; // unset: a table
  base::Destination output;               // without a file: standard output
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage predict_usage(PredictOptions& into);

// "50GB/s,5us", "400Gbit/s,5us", "40-50GB/s,4-6us". Errors: invalid_argument.
base::Result<analysis::cost_model::InterNodeRange> parse_inter_node(const std::string& text);

// "400", "400Tflop/s", "0.35-0.4Pflop/s" -> operations per second; a number alone means Tflop/s.
// Errors: invalid_argument.
base::Result<analysis::cost_model::Stated> parse_flops(const std::string& text);

// Reads the run and writes the output of `ncclprobe predict`. Returns the exit code (0, 2, 7); an
// error is one line on `err`.
int predict_steps(const PredictOptions& options);

} // namespace ncclprobe::cli
