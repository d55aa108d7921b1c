// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <iosfwd>
#include <optional>

namespace ncclprobe::cli {

struct ProcureOptions {
  std::filesystem::path nodes_file;
  std::optional<analysis::Format> format; // unset: a table
  base::Destination output;               // without a file: standard output
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage procure_usage(ProcureOptions& into);
Option procure_option(std::filesystem::path& into, OptionDetails details = {});

// Reads the file of nodes and their runs, and writes the comparison. Returns the exit code (0, 2,
// 6, 7); an error is one line on `err`.
int procure_nodes(const ProcureOptions& options, std::ostream& out, std::ostream& err);

} // namespace ncclprobe::cli
