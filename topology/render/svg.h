// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// A picture that needs nothing else: boxes in boxes (host, NUMA node, switch, GPU, NIC), NVLinks
// below them.
std::string render_svg(const Machine& machine);

} // namespace ncclprobe::topology
