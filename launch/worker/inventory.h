// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/inventory.h"

namespace ncclprobe::worker {

// This host as the operating system, the GPU libraries and Gloo describe it. Never throws: what
// cannot be had is left empty.
enum class Gpus {
  look,
  look_at_links, // for a topology: CUDA, which starts slowly, is asked only where it is needed
  leave_alone,   // a broken driver must not stop a run on the CPU
};
model::Host take_inventory(const backend::Options& options, Gpus gpus);

} // namespace ncclprobe::worker
