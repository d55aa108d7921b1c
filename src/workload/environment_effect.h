// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/tuning_space.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// The value that NCCL takes if this variable is not set. Nothing: not known, or it depends on the
// machine.
std::optional<std::string> known_default(const std::string& name);

// NCCL's variables that the environment sets, and those of ncclprobe's backends, by name. Each one
// that is known to change nothing for these targets has the reason: NCCL does not read it, its part
// of NCCL is not used, or its value is the default.
std::vector<EnvironmentVariable> environment_variables(const TuningGround& ground);

} // namespace ncclprobe::workload
