// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>

namespace ncclprobe::topology {

// The machine as a topology file for NCCL_TOPO_FILE. What is unknown is left out, and NCCL then
// looks for itself. Every switch becomes one element, as NCCL has it (see parent_switch()). Errors:
// unsupported if a GPU's bus id is unknown: NCCL knows GPUs by it.
base::Result<std::string> write_nccl_xml(const Machine& machine);

} // namespace ncclprobe::topology
