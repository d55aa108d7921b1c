// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/command.h"

namespace ncclprobe::cli {

struct World; // session.h

// All commands of ncclprobe. For those of ncclprobe-report this process executes that program.
// `world` must outlive them.
std::vector<Command> commands(const World& world);

// Runs the program with the world's arguments. Returns an exit code.
int run_program(const World& world);

} // namespace ncclprobe::cli
