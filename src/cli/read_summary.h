// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/run_summary.h"
#include "base/error.h"

#include <filesystem>

namespace ncclprobe::cli {

// A run for whoever needs no sample by itself: memory grows with its results. Errors: as
// store::read_run().
base::Result<analysis::RunSummary> read_summary(const std::filesystem::path& run_file);

} // namespace ncclprobe::cli
