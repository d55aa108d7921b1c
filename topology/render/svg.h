// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// A self-contained picture: nested boxes (host, NUMA node, switch, GPU, NIC), with NVLinks below
// them.
std::string render_svg(const Machine& machine);

} // namespace ncclprobe::topology
