// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/trace_window.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

struct ExportOptions {
  std::filesystem::path path; // run file, trace file, or folder of a captured job
  std::filesystem::path perfetto, chrome, csv_folder; // empty: not requested
  base::Overwrite overwrite = base::Overwrite::no;
  std::optional<int> trial;
  std::vector<int> ranks; // empty: all
  std::optional<analysis::timeline::WindowRequest> window;
  base::Verbosity verbosity = base::Verbosity::normal;
};

Usage export_usage(ExportOptions& into);

// `ncclprobe export`; part of ncclprobe-report, because it needs the same libraries. Prints what
// was written to `out`, errors to `err`. Returns the exit code (0, 2, 7).
int export_trace(const ExportOptions& options);

} // namespace ncclprobe::cli
