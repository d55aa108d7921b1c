// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

namespace ncclprobe::nvidia {

// The GPUs that this process may use and what CUDA says they can do to each other's memory, in
// CUDA's order. Creates no CUDA context. Errors: as count_gpus().
topology::Host cuda_topology();

} // namespace ncclprobe::nvidia
