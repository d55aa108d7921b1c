// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>
#include <vector>

namespace ncclprobe::topology {

// Text: each host's GPUs, NICs, P2P and matrix, then what is unknown, degraded or contradictory.
// `contradictions` by host, or empty. `columns` as of render_matrix().
std::string render_summary(const Machine& machine,
                           const std::vector<std::vector<std::string>>& contradictions,
                           int columns = 0);

} // namespace ncclprobe::topology
