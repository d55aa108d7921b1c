// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gpu_health.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// Asks the CUDA driver for CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED of each GPU that this process
// may see; absent for the others, and without a driver. Creates no multicast object.
void read_multicast(std::vector<model::GpuHealth>& health,
                    const std::string& library = "libcuda.so.1");

} // namespace ncclprobe::nvidia
