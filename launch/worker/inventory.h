// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/inventory.h"

namespace ncclprobe::worker {

// This host according to the operating system, the GPU libraries and Gloo. Never throws:
// unavailable values are empty.
enum class Gpus {
  look,
  look_at_links, // for a topology: CUDA starts slowly and is asked only if needed
  leave_alone,   // a broken driver must not stop a run on the CPU
};
model::HostInventory take_inventory(const backend::Options& options, Gpus gpus);

} // namespace ncclprobe::worker
