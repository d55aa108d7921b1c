// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"
#include "model/trial.h"
#include "store/trace_file.h"

namespace ncclprobe::cli {

// A trace file as the analysis of timelines reads it. `trial`: the traced trial, for the sizes of
// its communicators; null: unknown. If hosts' clocks were never compared, it contains what
// collectives show about them.
Result<analysis::timeline::TraceSource> trace_source(const store::TraceFile& file,
                                                     const model::TrialSpec* trial);

} // namespace ncclprobe::cli
