// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::topology {

// The faults of a GPU's NVLink fabric that the driver reports, as text, from NVML's mask (nvml.h,
// NVML_GPU_FABRIC_HEALTH_MASK_*). Absent if the mask answers no question.
std::optional<std::vector<std::string>> fabric_complaints(std::uint32_t mask);

} // namespace ncclprobe::topology
