// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "workload/step_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// The step cells of a trial: each request on each set of ranks.
struct StepMeasurement {
  std::vector<StepRequest> steps;
  std::vector<std::vector<int>> rank_sets;   // global ranks
  std::optional<std::uint64_t> memory_bytes; // free memory on the fullest device
};

struct StepCells {
  std::vector<model::Cell> cells;
  std::vector<std::string> left_out; // and why; one line each
};

// For each set of ranks, three cells: the whole step, its compute alone, its communication alone. A
// single rank has only the first, and a step without compute lacks the second. An input copy is
// part of all of them, and adds a fourth cell: the copy alone. Left out: patterns that are
// impossible with that many ranks, and steps that do not fit into memory. Errors: invalid_argument
// for a rank outside the world or named twice.
Result<StepCells> make_step_cells(const StepMeasurement& measurement, int world,
                                  const model::Timing& timing);

// The request on these ranks: if all replicas of the model share a batch, one replica's part.
// Errors: unsupported.
Result<StepRequest> request_on(const StepRequest& request, const std::vector<int>& ranks);

// The request behind a cell with this label. `model`: the model of that name. Errors: unsupported
// if the ranks do not divide.
base::Result<StepRequest> request_of(const model::StepLabel& label, ModelSpec model);

// The step of request_on() for these ranks. Errors: those of the pattern's maker.
Result<model::Schedule> make_step(const StepRequest& request, const StepScope& scope);

// The default timing of a step: 3 warm-ups, 5 batches of 10 steps, limited to that duration.
model::Timing step_timing(std::string_view backend);

// Bytes that `rank` contributes to communication per launch of the timed region: its collectives'
// send buffers and its sends.
std::uint64_t given_bytes(const model::Schedule& schedule, int rank, int world);

} // namespace ncclprobe::workload
