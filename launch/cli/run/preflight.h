// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_result.h"
#include "launch/cli/job/session.h"

#include <vector>

namespace ncclprobe::cli {

// The checks of `doctor` that need only the inventories and the environment; they run before every
// run. Returns failures, and NCCL variables whose value does not mean what it seems to. Without
// NCCL, only those that would have no meaning anywhere.
std::vector<analysis::doctor::CheckResult> preflight(const std::vector<model::HostInventory>& hosts,
                                                     const std::string& backend,
                                                     const World& world);

} // namespace ncclprobe::cli
