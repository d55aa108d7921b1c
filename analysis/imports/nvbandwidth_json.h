// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"

#include <string_view>

namespace ncclprobe::analysis::imports {

// What nvbandwidth -j prints (json_output.cpp, v0.5 to v0.8), with anything before its first brace
// ignored. One document is one launch. Unidirectional and bidirectional copies between two GPUs,
// copies between a GPU and its host by copy engine, and latencies between GPUs become P2P cells;
// all other test cases are named in the remarks. The size of a copy comes from the hints, because
// the document lacks it. Errors: invalid_argument if it is not such a document, or if nothing in it
// can be imported.
Result<ImportedProcesses> read_nvbandwidth_json(std::string_view text, const ImportHints& hints);

} // namespace ncclprobe::analysis::imports
