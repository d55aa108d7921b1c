// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

namespace ncclprobe::analysis_test {

// Two GPUs, companions alone: the default, a setting that changed nothing, one that took effect,
// one whose companion failed. Cells: all_reduce of 1 KiB, send_recv of 4 KiB.
model::Run proof_run();

} // namespace ncclprobe::analysis_test
