// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/what_if.h"
#include "analysis/report_value/report_writers.h"
#include "analysis/timeline/trace_window.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

// `ncclprobe report`: a separate program, so that it links neither MPI nor NVIDIA's libraries.
namespace ncclprobe::cli {

struct ReportOptions {
  std::filesystem::path run_file;
  std::optional<analysis::Format> format; // unset: a table
  base::Destination output;               // without a file: standard output
  bool brief = false;                     // only the answer
  bool fold = false;                      // first make the run file from the parts
  std::map<std::string, double> prices;   // by GPU name, "" for any; empty: no prices
  // The timeline of a trace, instead of the run's figures.
  bool timeline = false;
  std::optional<int> trial; // unset: the first traced one
  bool steps = false;       // each step separately, in JSON
  std::optional<analysis::timeline::WindowRequest> window;
  std::vector<int> ranks;                      // show only these; empty: all
  std::vector<analysis::job::WhatIf> what_ifs; // of a captured job
  base::Verbosity verbosity = base::Verbosity::normal;
};

Usage report_usage(ReportOptions& into);

// Reads the run and writes its report to `out` or the output file. Returns the exit code (0, 2, 7);
// an error is one line on `err`.
int report_run(const ReportOptions& options);

// The analysed timeline, instead of the run's figures. Missing parts that are not errors are
// logged.
base::Result<analysis::Report> timeline_report(const ReportOptions& options);

} // namespace ncclprobe::cli
