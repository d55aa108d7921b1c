// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"

#include <string_view>
#include <vector>

namespace ncclprobe::analysis::imports {

// The lines that NCCL Inspector writes (plugins/profiler/inspector/inspector_json.cc of NCCL,
// format v4.0), one JSON object each. It writes a file per process; `texts` are those of one job.
// The result is one process: the collectives of one communicator, each kind and size a cell in
// which every launch is a sample. Lines that are cut off, messages between two ranks and other
// communicators are left out and named in the remarks. Errors: invalid_argument if nothing is left,
// or if the hints name no communicator of the texts.
Result<ImportedProcess> read_inspector(const std::vector<std::string_view>& texts,
                                       const ImportHints& hints);

} // namespace ncclprobe::analysis::imports
