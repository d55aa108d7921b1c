// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/trace_convert.h"
#include "store/trace_file.h"

#include <filesystem>
#include <functional>
#include <vector>

namespace ncclprobe::cli {

// Writes a trace to the given file.
using MakeTrace = std::function<Result<void>(const std::filesystem::path& target)>;

// The trace of a folder of spools. Reading must not write beside its input, so the trace is kept in
// the user's cache, $XDG_CACHE_HOME/ncclprobe or ~/.cache/ncclprobe, which only the user can read.
// It is kept until a spool changes or it was not used for 30 days. If there is no such folder, the
// trace is temporary. Errors: those of `make`, and io.
Result<store::TraceFile> cached_trace(const std::filesystem::path& folder,
                                      const std::vector<std::filesystem::path>& spools,
                                      const MakeTrace& make);

// A trace that is not kept.
Result<store::TraceFile> temporary_trace(const MakeTrace& make);

} // namespace ncclprobe::cli
