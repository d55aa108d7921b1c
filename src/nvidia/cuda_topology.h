// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

namespace ncclprobe::nvidia {

// The GPUs that this process may use, in CUDA's order, and which memory they can access according
// to CUDA. Creates no CUDA context. Errors: as count_gpus().
topology::Host cuda_topology();

} // namespace ncclprobe::nvidia
