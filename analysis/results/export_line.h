// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// "export NCCL_ALGO=Ring NCCL_PROTO=LL", for a shell.
std::string export_line(const std::vector<model::Setting>& settings);

// Settings with the value base::k_value_unset remove a variable: their names, and all others.
std::vector<std::string> removed_variables(const std::vector<model::Setting>& settings);
std::vector<model::Setting> without_removed(std::vector<model::Setting> settings);

// Both, for a shell: "unset NCCL_P2P_DISABLE", then the line of export_line().
std::vector<std::string> shell_lines(const std::vector<model::Setting>& settings);

} // namespace ncclprobe::analysis
