// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/job.h"
#include "base/error.h"

#include <filesystem>

namespace ncclprobe::cli {

// Reads all spools of a folder, and looks whether their processes live if they are of this host.
// Files that cannot be read are remarks. Errors: not_found, io, and protocol if no file can be
// read.
Result<analysis::hang::Job> read_captured_job(const std::filesystem::path& folder);

} // namespace ncclprobe::cli
