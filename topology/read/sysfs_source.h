// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <filesystem>

namespace ncclprobe::topology {

// Linux's data about this host: NVIDIA's GPUs and NVSwitches, network adapters and the PCI devices
// above them, NUMA nodes and CPUs. Needs no driver. Values that the kernel does not report, or
// reports as "-1" or "Unknown", stay unknown. Reads <root>/sys and <root>/proc; never throws.
Host sysfs_topology(const std::filesystem::path& root = "/");

} // namespace ncclprobe::topology
