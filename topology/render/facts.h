// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// Each known value with the source that told it, a line each: "host 0  GPU 0  name  NVIDIA H200
// nvml". What is not listed is unknown.
std::string render_facts(const Machine& machine);

} // namespace ncclprobe::topology
