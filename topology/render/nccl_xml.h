// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>

namespace ncclprobe::topology {

// The machine as a topology file for NCCL_TOPO_FILE. Unknown values are omitted, and NCCL then
// detects them. Every switch becomes one element, as in NCCL (see parent_switch()). Errors:
// unsupported if a GPU's bus id is unknown, because NCCL identifies GPUs by it.
Result<std::string> write_nccl_xml(const Machine& machine);

} // namespace ncclprobe::topology
