// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/by_kernels.h"
#include "model/run.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct TracedSteps {
  analysis::steps::TracedCells cells;
  std::vector<std::string> remarks; // traces that could not be read
};

// What kernels tell of a run's steps. Of each setting the first traced trial is read; `report
// --timeline --trial N` shows the same. Nothing for runs without steps or traces.
TracedSteps traced_steps(const std::filesystem::path& run_file, const model::Run& run);

} // namespace ncclprobe::cli
