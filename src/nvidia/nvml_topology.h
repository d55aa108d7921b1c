// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "nvidia/nvml_library.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// The GPUs of this host as NVML tells of them, in its order, which is that of nvidia-smi: all that
// the container shows, whatever CUDA_VISIBLE_DEVICES says. What NVML's version or the GPU does not
// answer stays unknown, and a GPU that it counts and cannot open is left out, with a complaint.
// Needs no CUDA context; never throws.
topology::Host nvml_topology(const NvmlLibrary& nvml, std::vector<std::string>& complaints);

} // namespace ncclprobe::nvidia
