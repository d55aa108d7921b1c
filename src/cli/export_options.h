// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/output_file.h"
#include "cli/trace_window.h"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace ncclprobe::cli {

struct ExportOptions {
  std::filesystem::path path;                         // run file, trace file, or folder of spools
  std::filesystem::path perfetto, chrome, csv_folder; // empty: not wanted
  base::Overwrite overwrite = base::Overwrite::no;
  std::optional<int> trial;
  std::set<int> ranks; // empty: all
  std::optional<WindowRequest> window;
};

// Options, or the exit code to leave with at once: help was printed on `out`, or what is wrong with
// the arguments on `err`.
std::variant<ExportOptions, int> parse_export_arguments(const std::vector<std::string>& arguments,
                                                        std::ostream& out, std::ostream& err);

} // namespace ncclprobe::cli
