// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

// Clocks compared by what is physically possible: no rank ends an all-reduce (or another collective
// in which all need all) before the last rank has begun it. So every one of them says between which
// two offsets two clocks lie, and all must be true at once.
namespace ncclprobe::analysis::timeline {

// Gives ranks what their collectives say (RankHead::gpu_collectives, host_collectives): of GPUs
// that alone told when kernels ran, beside the best known one of their host; of hosts whose clock
// nobody compared, beside the first rank's host. Reads the traces of these ranks. A host or a GPU
// that shares no collective is left as it is, and ranks that cannot be read are left out.
void infer_clocks(TraceSource& source);

} // namespace ncclprobe::analysis::timeline
