// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

namespace ncclprobe::cli {

struct World;

// `ncclprobe plan`: prints these options as a plan file, or as a dry run the trials and their
// expected time. Returns an exit code.
int plan_command(const World& world, PlanOptions options);

} // namespace ncclprobe::cli
