// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/finding.h"
#include "launch/cli/job/session.h"

#include <vector>

namespace ncclprobe::cli {

// Of doctor's checks those that the inventories and the environment answer, which are there before
// every run: what fails, and NCCL variables that do not mean what they say. Without NCCL, only
// those that mean it nowhere.
std::vector<analysis::doctor::Finding> preflight(const std::vector<model::Host>& hosts,
                                                 const std::string& backend, const World& world);

} // namespace ncclprobe::cli
