// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/command.h"

namespace ncclprobe::cli {

// The commands that read runs and traces. They need no MPI and no GPU, and run on any machine.
std::vector<Command> report_commands();

} // namespace ncclprobe::cli
