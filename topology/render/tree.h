// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

enum class Lines { ascii, utf8 };

// Hosts, NUMA nodes, switches, GPUs and NICs as an indented tree, then the NVLinks and what is
// unknown.
std::string render_tree(const Machine& machine, Lines lines);

} // namespace ncclprobe::topology
