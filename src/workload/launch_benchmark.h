// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "workload/collective_benchmark.h"

#include <string_view>
#include <vector>

namespace ncclprobe::workload {

// Workload of a cell whose every launch is one kernel that does nothing.
inline constexpr std::string_view k_empty_kernel = "empty_kernel";

// The message that is small enough to be all launch.
inline constexpr std::uint64_t k_launched_bytes = 512;

enum class Graphs { no, yes };

// What a launch costs: an empty kernel and an all_reduce of 512 B, each one at a time (latency
// mode: the device's time; launch_ns of its samples: the host's) and back to back (batch mode: one
// every so often). The all_reduce also on a stream of the highest priority; on an idle device,
// which priority is not expected to change. With `graphs`, all at normal priority as graphs too.
// `timing` says how often; its mode does not count. Errors: those of make_collective_cell().
base::Result<std::vector<model::Cell>> make_launch_cells(int ranks, const model::Timing& timing,
                                                         Graphs graphs);

} // namespace ncclprobe::workload
