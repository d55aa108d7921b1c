// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/inventory.h"

namespace ncclprobe::worker {

// This host as the operating system, the GPU libraries and Gloo describe it. Never throws: what cannot
// be had is left empty.
model::Host take_inventory();

} // namespace ncclprobe::worker
