// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

// The runs behind the golden reports in tests/golden.
namespace ncclprobe::analysis_test {

model::Run sweep_run();     // 8 GPUs, three default processes, settings better, equal and worse
model::Run failures_run();  // two hosts, everything that can go wrong
model::Run synthetic_run(); // both placements, numbers from the model
model::Run stopped_run();   // the leader died after one of six trials, in which the default failed
model::Run empty_run();     // died before the first trial

} // namespace ncclprobe::analysis_test
