// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_writer.h"

namespace ncclprobe::plugin {

// The CUDA device that this thread works with; -1: none, or the driver is not loaded.
int current_device();

// Writes down on what the rank's NCCL works: its GPU, the driver, the program's command, the
// variables NCCL_*, and NCCL's version. Each of them is left out where the process does not tell.
void write_provenance(trace::SpoolWriter& spool, int rank, int device);

} // namespace ncclprobe::plugin
