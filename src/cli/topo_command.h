// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/session.h"
#include "cli/topo_options.h"

namespace ncclprobe::cli {

// `ncclprobe topo`: shows what the machine is, live or from files. Returns an exit code.
int topo_command(const World& world, const TopoOptions& options);

} // namespace ncclprobe::cli
