// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"
#include "store/trace_file.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace ncclprobe::cli {

struct ChosenTrace {
  store::TraceFile file;
  std::vector<int> other_trials; // other traced trials of the same run
  std::optional<model::Run> run; // if the path was a run file

  const model::TrialRecord* trial() const; // null if the run is unknown, or lacks the trial
};

// Opens the trace that a path means: a run file or its folder of traces (the first traced trial, or
// `trial`), a trace file, or a folder of spools. The trace of spools, or of a run that was never
// folded, is made elsewhere (trace_cache.h). Missing parts are logged. Errors: not_found, protocol,
// io, with advice.
Result<ChosenTrace> choose_trace(const std::filesystem::path& path, std::optional<int> trial);

// Errors: invalid_argument if the trace lacks one of these ranks.
Result<void> check_ranks(const store::TraceFile& trace, const std::vector<int>& ranks);

} // namespace ncclprobe::cli
