// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/report.h"
#include "launch/cli/common/trace_window.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

// `ncclprobe report`, a program of its own so that it links neither MPI nor anything of NVIDIA's.
namespace ncclprobe::cli {

struct ReportOptions {
  std::filesystem::path run_file;
  std::optional<analysis::Format> format; // unset: a table
  base::Destination output;               // without a file: standard output
  bool brief = false;                     // only the answer
  bool fold = false;                      // first make the run file of what lies in parts
  std::map<std::string, double> prices;   // by GPU name, "" for any; none: not asked for
  // The timeline of a trace, instead of the run's figures.
  bool timeline = false;
  std::optional<int> trial; // else the first traced one
  bool steps = false;       // each step by itself, in JSON
  std::optional<WindowRequest> window;
  std::vector<int> ranks; // figures of these alone; empty: of all
  base::Verbosity verbosity = base::Verbosity::normal;
};

Usage report_usage(ReportOptions& into);

// Reads the run and writes its report to `out` or the output file. Returns the exit code (0, 2, 7);
// what went wrong is one line on `err`.
int report_run(const ReportOptions& options, std::ostream& out, std::ostream& err);

// The analysed timeline, instead of the run's figures. What is missing, but no error, is logged.
base::Result<std::string> timeline_text(const ReportOptions& options);

} // namespace ncclprobe::cli
