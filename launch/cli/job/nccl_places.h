// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "workload/nccl_values.h"

#include <vector>

namespace ncclprobe::cli {

// What the values of NCCL's variables are judged by, for each host of the session: NCCL's version
// and RDMA adapters by the inventories; interfaces, files and libraries as this process finds them,
// so of its own host alone. `settings`: those whose files are looked for, besides the
// environment's.
std::vector<workload::NcclPlace> nccl_places(const Session& session, const World& world,
                                             const std::vector<model::Setting>& settings);

// Errors: mismatch, where NCCL would refuse a variable that a rank of this session was started
// with, except where one that can be overridden is. Nothing where no NCCL runs.
base::Result<void> check_environment(const Session& session, const World& world,
                                     const std::vector<std::string>& overrides);

} // namespace ncclprobe::cli
