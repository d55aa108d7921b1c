// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/topo/topo_live.h"

namespace ncclprobe::cli {

// Writes what each host shows of itself into options.record, on several hosts into a folder
// host-<n> below it. All supervisors call it. Returns an exit code.
int record(const World& world, const TopoOptions& options, const Sight& sight, LiveSight& live);

// The same text without what names a host or a piece of hardware: UUIDs, serial numbers, addresses,
// host names and their hashes, whichever program wrote it.
std::string without_names(const std::string& text);

} // namespace ncclprobe::cli
