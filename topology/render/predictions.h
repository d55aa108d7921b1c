// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// For each kind of collective over all GPUs: the highest bus bandwidth and the links that limit it
// (bottleneck.h).
std::string render_ceilings(const Machine& machine);

// The GPU, CPUs and NIC of each rank, why, and how to start the job this way (placement.h).
std::string render_placement(const Machine& machine);

} // namespace ncclprobe::topology
