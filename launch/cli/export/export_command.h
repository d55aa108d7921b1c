// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/trace_window.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

struct ExportOptions {
  std::filesystem::path path;                         // run file, trace file, or folder of spools
  std::filesystem::path perfetto, chrome, csv_folder; // empty: not wanted
  base::Overwrite overwrite = base::Overwrite::no;
  std::optional<int> trial;
  std::vector<int> ranks; // empty: all
  std::optional<WindowRequest> window;
  base::Verbosity verbosity = base::Verbosity::normal;
};

Usage export_usage(ExportOptions& into);

// `ncclprobe export`, in the program of the report, as it needs the same. Returns the exit code
// (0, 2, 7); what was written is told on `out`, what went wrong on `err`.
int export_trace(const ExportOptions& options, std::ostream& out, std::ostream& err);

} // namespace ncclprobe::cli
