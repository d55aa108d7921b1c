// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// What a trial measures of steps: each request on each set of ranks.
struct StepMeasurement {
  std::vector<StepRequest> steps;
  std::vector<std::vector<int>> rank_sets;   // global ranks
  std::optional<std::uint64_t> memory_bytes; // free on the fullest device
};

struct StepCells {
  std::vector<model::Cell> cells;
  std::vector<std::string> left_out; // and why; one line each
};

// For each set of ranks three cells: the whole step, its compute alone, its communication alone. A
// single rank has the first only, and a step without compute no second. With an input copy, which
// is in all of them, one more: the copy alone. Left out: what a pattern
// cannot do on so many ranks, and what does not fit into the memory. Errors: invalid_argument for a
// rank outside the world or named twice.
base::Result<StepCells> make_step_cells(const StepMeasurement& measurement, int world,
                                        const model::Timing& timing);

// The request on these ranks: of a batch that all replicas of the model share, one's part. Errors:
// unsupported.
base::Result<StepRequest> request_on(const StepRequest& request, const std::vector<int>& ranks);

// The step of a request_on() these ranks. Errors: those of the pattern's maker.
base::Result<model::Schedule> make_step(const StepRequest& request, const StepScope& scope);

// How a step is timed unless told otherwise: 3 warm-ups, 5 batches of 10 steps, at most so long.
model::Timing step_timing(std::string_view backend);

// What `rank` gives to communication in one launch of the timed region: bytes of its collectives'
// send buffers and of its sends.
std::uint64_t given_bytes(const model::Schedule& schedule, int rank, int world);

} // namespace ncclprobe::workload
