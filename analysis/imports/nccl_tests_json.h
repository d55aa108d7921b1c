// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"

#include <string_view>

namespace ncclprobe::analysis::imports {

// The file that nccl-tests writes with -J (util.cu, JSON_FILE_VERSION 1 to 3, from 2.17 on). One
// file is one launch. A file whose end is missing keeps its whole results. Errors:
// invalid_argument if it has no results, or if they are not understood (nccl_tests_rows.h).
Result<ImportedProcesses> read_nccl_tests_json(std::string_view text, const ImportHints& hints);

} // namespace ncclprobe::analysis::imports
