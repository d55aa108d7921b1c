// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gpu_health.h"
#include "nvidia/nvml_library.h"

#include <vector>

namespace ncclprobe::nvidia {

// The health of every GPU that NVML knows, by its index. A value is absent if this driver's NVML
// lacks its function or returns "not supported" or "no permission". Reads only.
std::vector<model::GpuHealth> read_health(const NvmlLibrary& nvml);

} // namespace ncclprobe::nvidia
