// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gpu_health.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// Asks the CUDA driver whether each GPU that this process may see supports multicast and memory
// pools; absent for the others, and without a driver. Creates neither.
void read_gpu_attributes(std::vector<model::GpuHealth>& health,
                         const std::string& library = "libcuda.so.1");

} // namespace ncclprobe::nvidia
