// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <filesystem>

namespace ncclprobe::topology {

// What Linux knows of this host: NVIDIA's GPUs and NVSwitches, network adapters and what leads to
// them over PCI, NUMA nodes and CPUs. Needs no driver. What the kernel does not tell, or tells as
// "-1" or "Unknown", stays unknown. Reads <root>/sys and <root>/proc; never throws.
Host sysfs_topology(const std::filesystem::path& root = "/");

} // namespace ncclprobe::topology
