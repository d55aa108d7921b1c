// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <vector>

namespace ncclprobe::topology {

// The NVLinks between two GPUs, or between a GPU and all NVSwitches together.
struct NvlinkBundle {
  int gpu = 0;
  std::optional<int> peer; // absent: the NVSwitches
  int links = 0;
  std::optional<double> gb_per_s; // of all of them, in one direction
};

// A host's active NVLinks, from the GPUs' lists or from an nvidia-smi matrix.
std::vector<NvlinkBundle> nvlink_bundles(const Host& host);

} // namespace ncclprobe::topology
