// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/trial.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// One dimension of a grid of settings.
struct Axis {
  std::string name; // an environment variable, a library that is loaded by path, `worker`, or an
                    // in-process setting
  std::vector<std::string> values;
};
// Errors: invalid_argument if a name comes twice, or an axis has no values.
Result<void> check_axes(const std::vector<Axis>& axes);

// The product of the axes, without duplicates; empty without axes. Errors: invalid_argument as
// check_axes(), or for a name or value that the backend does not have (model/in_process.h).
Result<std::vector<std::vector<model::Setting>>> in_process_grid(const std::string& backend,
                                                                 const std::vector<Axis>& axes);

// `settings`, as the environment variables of the same effect; without those that have none.
std::vector<model::Setting> as_variables(const std::string& backend,
                                         const std::vector<model::Setting>& settings);

// Cells that a trial measures next to each other: one, and the same with in-process settings.
using CellBlocks = std::vector<std::vector<model::Cell>>;

// How often a trial measures a cell's default. Twice: the two arms of the A/A comparison in the
// process; a cell without settings has one.
enum class Defaults { once, twice };

// True for a cell that in-process settings can change: a collective or a training step.
bool takes_settings(const model::Cell& cell);

// A block for each of `cells`, with each of `grid` for which is_possible(cell, settings), if it
// takes settings.
CellBlocks in_process_blocks(
    const std::vector<model::Cell>& cells, const std::vector<std::vector<model::Setting>>& grid,
    const std::function<bool(const model::Cell&, const std::vector<model::Setting>&)>& is_possible,
    Defaults defaults);

// All cells of the blocks, each block in a random order that is drawn from `seed` and the trial's
// number, so that a drift in a process favours none of its settings.
std::vector<model::Cell> in_random_order(CellBlocks blocks, std::uint64_t seed, int trial);

} // namespace ncclprobe::workload
