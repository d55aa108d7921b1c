// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/by_kernels.h"
#include "model/run.h"

#include <filesystem>

namespace ncclprobe::cli {

// The steps of a run as measured by kernels. Reads the first traced trial of each setting; `report
// --timeline --trial N` shows the same. Empty for runs without steps or traces; a trace that cannot
// be read is logged.
analysis::steps::TracedCells traced_steps(const std::filesystem::path& run_file,
                                          const model::Run& run);

} // namespace ncclprobe::cli
