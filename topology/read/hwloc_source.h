// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>

// The only code that uses libhwloc.
namespace ncclprobe::topology {

// This host according to hwloc: CPUs, NUMA nodes and the PCI tree down to GPUs and network
// adapters. hwloc's own discovery of GPUs (CUDA, NVML, OpenCL, GL) stays off, because it would load
// their libraries into this process. Errors: failed, if hwloc fails.
Result<Host> hwloc_topology();

// The same as a file that `lstopo file.xml` would write. Errors: failed.
Result<std::string> hwloc_xml();

// A file that `lstopo file.xml` wrote, of hwloc 1 or 2. Errors: invalid_argument with the file and,
// if it is not XML, the line (hwloc itself reports no line).
Result<Machine> read_hwloc_xml(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
