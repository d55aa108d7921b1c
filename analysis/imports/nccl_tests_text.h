// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"

#include <string_view>

namespace ncclprobe::analysis::imports {

// True if the text holds a table of nccl-tests.
bool is_nccl_tests_text(std::string_view text);

// Output of nccl-tests as it prints it, from 2019's release on: with or without columns for
// reduction and root, per-iteration columns (-I), time stamps (-S), several cycles (-N). Anything
// between the lines is ignored. A log may hold several launches, and its lines may have the
// prefixes of log_streams.h. A launch that was cut off keeps its whole rows.
// Errors: invalid_argument if there is no row, or if a launch is not understood
// (nccl_tests_rows.h).
Result<ImportedProcesses> read_nccl_tests_text(std::string_view text, const ImportHints& hints);

} // namespace ncclprobe::analysis::imports
