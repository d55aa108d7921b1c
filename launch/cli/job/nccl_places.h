// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "workload/nccl_values.h"

#include <vector>

namespace ncclprobe::cli {

// The facts by which values of NCCL's variables are judged, for each host of the session. NCCL's
// version and RDMA adapters come from the inventories. Interfaces, files and libraries are those
// that this process finds, so they are known for its own host only. `settings`: settings whose
// files are looked for, besides the environment's.
std::vector<workload::NcclPlace> nccl_places(const Session& session, const World& world,
                                             const std::vector<model::Setting>& settings);

// Errors: mismatch if NCCL would reject a variable in the environment of a rank, except if that
// variable is overridden. Does nothing if no NCCL runs.
Result<void> check_environment(const Session& session, const World& world,
                               const std::vector<std::string>& overrides);

} // namespace ncclprobe::cli
