// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "base/output_file.h"

#include <filesystem>

namespace ncclprobe::cli {

// Reads the file of nodes and their runs, and writes the comparison to `output`, or to stdout if
// that names no file. Returns the exit code (0, 2, 6, 7); an error is one line on `err`.
int procure_nodes(const std::filesystem::path& nodes_file, analysis::Format format,
                  const base::Destination& output);

} // namespace ncclprobe::cli
