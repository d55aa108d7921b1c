// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/command.h"

namespace ncclprobe::cli {

struct World; // session.h

// All commands of ncclprobe. Those of ncclprobe-report become that program. `world` must outlive
// them.
std::vector<Command> commands(const World& world);

// Does what the world's arguments say. Returns an exit code.
int run_program(const World& world);

} // namespace ncclprobe::cli
