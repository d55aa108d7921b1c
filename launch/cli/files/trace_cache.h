// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/trace_convert.h"
#include "store/trace_file.h"

#include <filesystem>
#include <functional>
#include <vector>

namespace ncclprobe::cli {

// Makes a trace as the file that it is given.
using MakeTrace = std::function<base::Result<void>(const std::filesystem::path& target)>;

// The trace of a folder of spools. It is not kept beside them, as reading writes nowhere near what
// it reads, but in the user's cache, $XDG_CACHE_HOME/ncclprobe or ~/.cache/ncclprobe, which nobody
// else can read, until a spool changes or it was not used for 30 days. Without such a folder it has
// no name. Errors: those of `make`, and io.
base::Result<store::TraceFile> cached_trace(const std::filesystem::path& folder,
                                            const std::vector<std::filesystem::path>& spools,
                                            const MakeTrace& make);

// A trace that is not kept.
base::Result<store::TraceFile> temporary_trace(const MakeTrace& make);

} // namespace ncclprobe::cli
