// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

// Compares clocks by physical constraints: no rank ends an all-reduce (or another collective in
// which all need all) before the last rank has begun it. Every such collective gives two offsets
// between which two clocks lie, and all must hold at once.
namespace ncclprobe::analysis::timeline {

// Adds the bounds of collectives to ranks (RankHead::gpu_collectives, host_collectives): for GPUs
// that are the only source of kernel times, relative to the most accurate one on their host; for
// hosts whose clock was not compared, relative to the first rank's host. Reads the traces of these
// ranks. A host or a GPU without a common collective stays unchanged, and unreadable ranks are
// omitted.
void infer_clocks(TraceSource& source);

} // namespace ncclprobe::analysis::timeline
