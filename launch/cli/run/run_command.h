// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"

namespace ncclprobe::cli {

// `ncclprobe run`: measures the plan, stores every finished trial, folds the run file and prints
// the report. Returns an exit code (base/exit_code.h).
int run_command(const World& world, RunOptions options);

} // namespace ncclprobe::cli
