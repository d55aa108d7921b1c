// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// Each known value with its source, one per line: "host 0  GPU 0  name  NVIDIA H200 nvml". Values
// that are not listed are unknown.
std::string render_facts(const Machine& machine);

} // namespace ncclprobe::topology
