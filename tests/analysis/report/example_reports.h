// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/by_kernels.h"
#include "model/run.h"

// The runs behind the golden reports in tests/golden.
namespace ncclprobe::analysis_test {

model::Run sweep_run();     // 8 GPUs, five blocks, settings better, equal and worse
model::Run failures_run();  // two hosts, everything that can go wrong
model::Run synthetic_run(); // both placements, numbers from the model
model::Run
latency_run(); // single launches in a CUDA graph, one process throttled, a companion trial
model::Run in_process_run(); // two settings within five processes that differ, and a set variable
model::Run stopped_run();    // the leader died after one of six trials, in which the default failed
model::Run steps_run(); // training steps on 1, 2 and 4 ranks, whole and by halves, two settings
analysis::steps::TracedCells traced_steps(); // of one of these cells
model::Run empty_run();                      // died before the first trial

} // namespace ncclprobe::analysis_test
