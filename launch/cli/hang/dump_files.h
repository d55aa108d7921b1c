// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/job.h"
#include "base/error.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// Reads dumps of PyTorch's flight recorder. `patterns`: files, folders, and patterns such as
// "/tmp/nccl_trace_rank_*". A file that cannot be read is a remark. Errors: not_found (no file),
// io, protocol (no file can be read).
Result<analysis::hang::Job> read_dumps(const std::vector<std::string>& patterns);

} // namespace ncclprobe::cli
