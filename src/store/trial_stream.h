// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/run.h"

#include <cstddef>
#include <filesystem>
#include <functional>

namespace ncclprobe::store {

// Receives a run's trials one at a time.
struct TrialSink {
  // Called first, with the header and the number of trials. Called again, before all trials come
  // again, if the run was folded while it was read.
  std::function<void(model::RunHeader header, std::size_t trials)> begin;
  // Each trial; `index` is its position by id. Called by several
  // threads at once, each with another index. May throw.
  std::function<void(std::size_t index, model::TrialRecord trial)> take;
  // May be absent. Called before for each of the trial's cells in their order, as soon as it is
  // read. take() gets what it leaves of the record: if it takes the rows away, those of few cells
  // are in memory at once. May throw.
  std::function<void(std::size_t index, const model::TrialSpec& spec, std::size_t cell,
                     model::CellRecord& record)>
      take_cell;
};

// Reads a run. The samples, conditions and marks of a few trials are in memory at once, or of a few
// cells if take_cell takes them away. Two to four threads unpack them. The files are first read in
// a forked child, without these large tables, which have checksums of their own. Errors: as
// read_run().
Result<void> read_trials(const std::filesystem::path& run_file, const TrialSink& sink);

} // namespace ncclprobe::store
