// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

namespace ncclprobe::analysis_test {

// Two GPUs, companions alone: the default, a setting that changed nothing, one that took effect,
// one whose companion failed. Cells: all_reduce of 1 KiB, send_recv of 4 KiB.
model::Run proof_run();

// An all-reduce of this many floats on two GPUs: by LL128 in 50 us, with NCCL_PROTO=Simple in 40
// us. Companions have NCCL's own table of expected times.
inline constexpr std::uint64_t k_predicted_floats = 1 << 20;
model::Run predicted_run();

} // namespace ncclprobe::analysis_test
