// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_writer.h"

#include <string>
#include <utility>
#include <vector>

namespace ncclprobe::plugin {

// The program, its script or module if it is an interpreter, and the number of further arguments.
// Those arguments are not stored, because they may hold secrets.
std::string program_of(const std::vector<std::string>& command_line);

// The CUDA device of this thread; -1: none, or the driver is not loaded.
int current_device();

// The variables NCCL_*, with values as they may be stored. Call it only from NCCL's threads during
// its start, when NCCL reads the environment too. At any other time the program may change the
// environment, which moves its list.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables nccl_variables();

// Records what the rank's NCCL works with: its GPU, the driver, the program, the variables, and
// NCCL's version. Each is left out if the process does not know it.
void write_provenance(trace::SpoolWriter& spool, int rank, int device, const Variables& variables);

} // namespace ncclprobe::plugin
