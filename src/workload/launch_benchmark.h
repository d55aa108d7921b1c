// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "workload/collective_benchmark.h"

#include <vector>

namespace ncclprobe::workload {

// A message so small that its time is all launch overhead.
inline constexpr std::uint64_t k_launched_bytes = 512;

enum class Graphs { no, yes };

// The cost of a launch: an empty kernel and an all_reduce of 512 B, one at a time (latency mode:
// the device's time; launch_ns of its samples: the host's) and back to back (batch mode: the
// interval between launches). Also the all_reduce on a stream of the highest priority, on an idle
// device, where priority should make no difference. With `graphs`, those of normal priority also as
// graphs. `timing` gives the counts; its mode is ignored. Errors: those of make_collective_cell().
Result<std::vector<model::Cell>> make_launch_cells(int ranks, const model::Timing& timing,
                                                   Graphs graphs);

} // namespace ncclprobe::workload
