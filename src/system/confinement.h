// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// Container and control groups (v1 and v2) of this process, from the files below `root`. The
// tightest limit between its group and the top counts.
model::Confinement confinement(const std::filesystem::path& root = "/");

// Whether get_mempolicy(2) is allowed: some container profiles forbid it, and NCCL needs it for
// host memory.
std::optional<bool> numa_calls_allowed();

} // namespace ncclprobe::system
