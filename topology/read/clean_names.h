// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "topology/read/nccl_graph.h"

#include <vector>

// Names in files may contain control characters, which would reach terminals, pictures and XML.
// These functions make every text printable.
namespace ncclprobe::topology {

void clean_names(Machine& machine);
void clean_names(std::vector<NcclGraph>& graphs);

} // namespace ncclprobe::topology
