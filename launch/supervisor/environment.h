// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::launch {

// True for variables that a launcher (Open MPI, PMIx, PRRTE, Hydra, Slurm's PMI) sets for its own
// ranks and that would confuse a worker: OMPI_, PMIX_, PMI_, PRTE_, ORTE_, HYDRA_, MPIR_, ... All
// others are passed on.
bool is_launcher_variable(std::string_view name);

// A worker's environment as "NAME=value" strings: `inherited` without the launcher's variables,
// plus `settings` (which replace an inherited variable of the same name, or remove it with the
// value base::k_value_unset).
std::vector<std::string> worker_environment(const std::vector<std::string>& inherited,
                                            const std::vector<model::Setting>& settings);

} // namespace ncclprobe::launch
