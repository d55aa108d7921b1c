// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// Container and control groups (v1 and v2) of this process, from the files below `root`. The
// tightest limit on the way from its group up to the top counts.
model::Confinement confinement(const std::filesystem::path& root = "/");

// Whether get_mempolicy(2) may be called: container profiles forbid it, and NCCL wants it for
// memory of the host.
std::optional<bool> numa_calls_allowed();

} // namespace ncclprobe::system
