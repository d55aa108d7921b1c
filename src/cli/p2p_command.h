// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/p2p_options.h"
#include "cli/session.h"

namespace ncclprobe::cli {

// `ncclprobe p2p`: plans and measures the matrices, stores them as a run and prints its report.
// Returns an exit code (base/exit_code.h).
int p2p_command(const World& world, const P2pOptions& options);

} // namespace ncclprobe::cli
