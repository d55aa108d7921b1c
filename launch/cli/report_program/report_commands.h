// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/command.h"

namespace ncclprobe::cli {

// The commands that read runs and traces: they need no MPI, no GPU and not the machine of the run.
std::vector<Command> report_commands();

} // namespace ncclprobe::cli
