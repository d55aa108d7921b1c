// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/captured_step.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

struct CapturedJob {
  std::filesystem::path path;
  std::optional<int> step_kind;                   // nothing: the one with the most steps
  std::optional<std::vector<int>> captured_ranks; // to replay; nothing: the first ones
  std::optional<int> steps;                       // CaptureRequest::steps
  model::ReplayCompute compute = model::ReplayCompute::gemm;
};

// The step to replay on that many ranks. Errors: those of choose_trace(),
// analysis::replay::captured_step() and workload::ranks_to_replay().
base::Result<model::CapturedStep> step_to_replay(const CapturedJob& job, int world);

} // namespace ncclprobe::cli
