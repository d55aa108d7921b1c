// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/by_kernels.h"
#include "model/run.h"

#include <filesystem>

namespace ncclprobe::cli {

// What kernels tell of a run's steps. Of each setting the first traced trial is read; `report
// --timeline --trial N` shows the same. Nothing for runs without steps or traces; a trace that
// cannot be read is logged.
analysis::steps::TracedCells traced_steps(const std::filesystem::path& run_file,
                                          const model::Run& run);

} // namespace ncclprobe::cli
