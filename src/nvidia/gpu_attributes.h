// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gpu_health.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// Asks the CUDA driver whether each GPU visible to this process supports multicast and memory
// pools. Absent for other GPUs, and without a driver. Creates no multicast object or pool.
void read_gpu_attributes(std::vector<model::GpuHealth>& health,
                         const std::string& library = "libcuda.so.1");

} // namespace ncclprobe::nvidia
