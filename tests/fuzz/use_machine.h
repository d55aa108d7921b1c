// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <cstdint>

namespace ncclprobe::fuzz {

// Does with what was read all that the program does with it; an Error is a fine answer.
void use(const base::Result<topology::Machine>& machine);

} // namespace ncclprobe::fuzz
