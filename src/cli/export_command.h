// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/export_options.h"

namespace ncclprobe::cli {

// `ncclprobe export`, in the program of the report, as it needs the same. Returns the exit code
// (0, 2, 7); what was written is told on `out`, what went wrong on `err`.
int export_trace(const ExportOptions& options, std::ostream& out, std::ostream& err);

} // namespace ncclprobe::cli
