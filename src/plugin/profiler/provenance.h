// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_writer.h"

#include <string>
#include <utility>
#include <vector>

namespace ncclprobe::plugin {

// The program, its script or module if an interpreter runs it, and how many arguments there are
// beside: those are not ours to store, and may hold secrets.
std::string program_of(const std::vector<std::string>& command_line);

// The CUDA device that this thread works with; -1: none, or the driver is not loaded.
int current_device();

// The variables NCCL_*, with values as they may be stored. For threads of NCCL's while it starts,
// which reads them too: the program may set variables at any other time, and the list of them moves
// when it does.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables nccl_variables();

// Writes down on what the rank's NCCL works: its GPU, the driver, the program, the variables, and
// NCCL's version. Each of them is left out where the process does not tell.
void write_provenance(trace::SpoolWriter& spool, int rank, int device, const Variables& variables);

} // namespace ncclprobe::plugin
