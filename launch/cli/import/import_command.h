// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"
#include "launch/cli/common/usage.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct ImportOptions {
  std::vector<std::string> files; // "-": standard input
  base::Destination output;
  std::optional<model::ImportFormat> format; // unset: found out
  analysis::imports::ImportHints hints;
  std::optional<int> launch; // from 1; unset: all
  std::string note;
  base::Verbosity verbosity = base::Verbosity::normal;
};

Usage import_usage(ImportOptions& into);

// `ncclprobe import`: writes a run file of other programs' output. Prints what was imported to
// `out`, errors to `err`. Returns the exit code (0, 2, 7).
int import_files(const ImportOptions& options);

} // namespace ncclprobe::cli
