// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/run.h"

#include <cstddef>
#include <filesystem>
#include <functional>

namespace ncclprobe::store {

// Who takes a run's trials one at a time.
struct TrialSink {
  // Called first: what is known of the run, and how many trials will come. Called again if all of
  // them come once more, because the run was folded while it was read.
  std::function<void(model::RunHeader header, std::size_t trials)> begin;
  // Each trial as read_run() would give it; `index` is its place by id. Called by several threads
  // at once, each with another index. May throw.
  std::function<void(std::size_t index, model::TrialRecord trial)> take;
};

// Reads a run as read_run() does, but holds only a few trials' samples, conditions and marks at
// once. They are unpacked by two to four threads; the files are tried out in a forked child first,
// without these large tables, which have checksums of their own. Errors: as read_run().
base::Result<void> read_trials(const std::filesystem::path& run_file, const TrialSink& sink);

} // namespace ncclprobe::store
