// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gpu_health.h"
#include "nvidia/nvml_library.h"

#include <vector>

namespace ncclprobe::nvidia {

// The health of every GPU that NVML knows, by its index. A function that this driver's NVML does
// not have, or that says "not supported" or "no permission", leaves its value absent. Reads only.
std::vector<model::GpuHealth> read_health(const NvmlLibrary& nvml);

} // namespace ncclprobe::nvidia
