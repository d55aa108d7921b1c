// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::topology {

// What the driver says is wrong with a GPU's NVLink fabric, in words, from NVML's mask (nvml.h,
// NVML_GPU_FABRIC_HEALTH_MASK_*). Absent if it answers none of the mask's questions.
std::optional<std::vector<std::string>> fabric_complaints(std::uint32_t mask);

} // namespace ncclprobe::topology
