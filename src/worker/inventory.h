// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/inventory.h"

#include <map>
#include <string>

namespace ncclprobe::worker {

// This host as the operating system, the GPU libraries and Gloo describe it. Never throws: what
// cannot be had is left empty.
model::Host take_inventory(const std::map<std::string, std::string>& environment);

} // namespace ncclprobe::worker
