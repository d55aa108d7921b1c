// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// "export NCCL_ALGO=Ring NCCL_PROTO=LL", for a shell.
std::string export_line(const std::vector<model::Setting>& settings);

} // namespace ncclprobe::analysis
