// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "nvidia/nvml_library.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// The GPUs of this host according to NVML, in its order, which is that of nvidia-smi: all that the
// container shows, regardless of CUDA_VISIBLE_DEVICES. Values that NVML or the GPU does not report
// stay unknown. A GPU that NVML counts but cannot open is left out, with a complaint. Needs no CUDA
// context; never throws.
topology::Host nvml_topology(const NvmlLibrary& nvml, std::vector<std::string>& complaints);

} // namespace ncclprobe::nvidia
