// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <cstdint>

namespace ncclprobe::fuzz {

// Runs everything that the program does with a machine; an Error is a valid result.
void use(const base::Result<topology::Machine>& machine);

} // namespace ncclprobe::fuzz
